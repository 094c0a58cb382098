import AsyncUpload
import Foundation
import Testing

/// One server of each kind, and TLS in front of those that have none, for all tests of a suite.
final class ResumableServers: Sendable {
    /// Those of the suite that is running.
    @TaskLocal static var current: ResumableServers?

    private let servers: [ResumableServer.Kind: ResumableServer]
    private let fronts: [ResumableServer.Kind: TLSFront]

    init() async throws {
        // All at the same time: each takes seconds.
        servers = try await withThrowingTaskGroup(of: ResumableServer.self) { group in
            for kind in ResumableServer.Kind.installed { group.addTask { try await ResumableServer(kind) } }
            return try await group.reduce(into: [:]) { $0[$1.kind] = $1 }
        }
        var fronts: [ResumableServer.Kind: TLSFront] = [:]
        for route in Route.installed where route.isSecure {
            guard let server = servers[route.kind] else { continue }
            fronts[route.kind] = try await TLSFront(of: server.port)
        }
        self.fronts = fronts
    }

    func end() async {
        for front in fronts.values { await front.end() }
        for server in servers.values { await server.end() }
    }

    func server(_ kind: ResumableServer.Kind) throws -> ResumableServer { try #require(servers[kind]) }

    /// Where a way to a server begins.
    func port(of route: Route) throws -> UInt16 {
        route.isSecure ? try #require(fronts[route.kind]).port : try server(route.kind).port
    }
}

/// A way to a server.
enum Route: String, CaseIterable, CustomTestStringConvertible {
    case resumableUpload = "resumable-upload", resumableUploadWithTLS = "resumable-upload, TLS"
    case tuspyserver
    case gcsEmulator = "gcp-storage-emulator", gcsEmulatorWithTLS = "gcp-storage-emulator, TLS"
    case moto
    case seaweedTus = "SeaweedFS, tus", seaweedTusWithTLS = "SeaweedFS, tus, TLS"
    case seaweedS3 = "SeaweedFS, S3", seaweedS3WithTLS = "SeaweedFS, S3, TLS"

    /// Those to servers that there are.
    static let installed = allCases.filter { ResumableServer.Kind.installed.contains($0.kind) }

    var testDescription: String { rawValue }

    var kind: ResumableServer.Kind {
        switch self {
        case .resumableUpload, .resumableUploadWithTLS: .resumableUpload
        case .tuspyserver: .tuspyserver
        case .gcsEmulator, .gcsEmulatorWithTLS: .gcsEmulator
        case .moto: .moto
        case .seaweedTus, .seaweedTusWithTLS: .seaweedTus
        case .seaweedS3, .seaweedS3WithTLS: .seaweedS3
        }
    }

    var isSecure: Bool {
        switch self {
        case .resumableUploadWithTLS, .gcsEmulatorWithTLS, .seaweedTusWithTLS, .seaweedS3WithTLS: true
        case .resumableUpload, .tuspyserver, .gcsEmulator, .moto, .seaweedTus, .seaweedS3: false
        }
    }
}

/// Starts the servers for a suite, and ends them when it is over.
struct HasResumableServers: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        let servers = try await ResumableServers()
        do {
            try await ResumableServers.$current.withValue(servers, operation: function)
        } catch {
            await servers.end()
            throw error
        }
        await servers.end()
    }
}

extension Trait where Self == HasResumableServers {
    static var hasResumableServers: Self { Self() }
}
