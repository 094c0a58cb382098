import AsyncUpload
import Foundation
import Testing

/// An nginx of a test's own, gone with the last reference to it. See `nginx.conf` for what it does.
final class NginxServer: Sendable {
    /// Where it listens.
    enum Port: String, CaseIterable, CustomTestStringConvertible {
        case plain = "PLAIN"
        /// TLS with HTTP/2, and HTTP/1.1 for who does not speak that.
        case http2 = "HTTP2"
        /// TLS with HTTP/1.1 only.
        case http1 = "HTTP1"
        /// TLS that wants a certificate of the client.
        case clientCertificate = "CLIENT"
        /// TLS with a certificate that has expired.
        case expired = "EXPIRED"
        /// TLS with a certificate for another host.
        case otherHost = "OTHER"

        /// Those that differ in nothing but the protocol.
        static let ordinary = [plain, http1, http2]

        var testDescription: String { rawValue }

        var scheme: String { self == .plain ? "http" : "https" }

        var version: String { self == .plain || self == .http1 ? "HTTP/1.1" : "HTTP/2.0" }
    }

    struct Failure: Error {
        let reason: String
    }

    let certificates: Certificates
    /// The server's own; tests may keep files of theirs in it.
    let folder: TemporaryFolder
    private let ports: [Port: UInt16]
    private let process: ServerProcess

    /// Starts one and waits until it answers.
    init() async throws {
        guard let nginx = Program("nginx") else { throw Failure(reason: "nginx is not installed") }
        certificates = try await Certificates.shared.value
        folder = try TemporaryFolder()
        for name in Certificates.Name.allCases { try folder.write(name.rawValue, certificates[name]) }
        (ports, process) = try await Self.start(nginx, in: folder)
    }

    /// Somebody else may take a port after it was found to be free.
    private static func start(
        _ nginx: Program,
        in folder: TemporaryFolder
    ) async throws -> ([Port: UInt16], ServerProcess) {
        let arguments = ["-p", folder.url.path, "-c", folder.file("nginx.conf").path]
        for _ in 1...5 {
            let numbers = try Loopback.freePorts(Port.allCases.count)
            let ports = Dictionary(uniqueKeysWithValues: zip(Port.allCases, numbers))
            try folder.write("nginx.conf", configuration(ports))
            let process = try ServerProcess(nginx, arguments, in: folder)
            try await eventually("no answer from nginx") {
                !process.isRunning || (try? connectionCount(at: ports[.plain])) != nil
            }
            if process.isRunning { return (ports, process) }
        }
        throw Failure(reason: String(decoding: try folder.read("output"), as: UTF8.self))
    }

    private static func configuration(_ ports: [Port: UInt16]) throws -> Data {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../nginx.conf")
        let template = try String(contentsOf: file, encoding: .utf8)
        return Data(ports.reduce(template) { $0.replacing("@\($1.key.rawValue)@", with: "\($1.value)") }.utf8)
    }

    private static func connectionCount(at port: UInt16?) throws -> Int {
        let answer = try Loopback.get("/connections", port: port ?? 0)
        guard let body = answer.split(separator: "\r\n\r\n").last, let count = Int(body) else {
            throw Failure(reason: answer)
        }
        return count
    }
}

extension NginxServer {
    /// Whether there is everything to start one.
    static let isInstalled = Program("nginx") != nil && Program("openssl") != nil

    func request(_ port: Port, _ path: String, host: String = "127.0.0.1", scheme: String? = nil) -> URLRequest {
        var components = URLComponents()
        components.scheme = scheme ?? port.scheme
        components.host = host
        components.port = ports[port].map(Int.init)
        components.path = path
        guard let url = components.url else { preconditionFailure("\(path) is not a path") }
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        return request
    }

    /// Where it keeps a certificate or key.
    func file(_ name: Certificates.Name) -> URL { folder.file(name.rawValue) }

    /// What was uploaded to a path.
    func stored(_ path: String) throws -> Data { try folder.read("data" + path) }

    /// The paths that there is something at.
    var storedPaths: [String] {
        let names = try? FileManager.default.subpathsOfDirectory(atPath: folder.file("data").path)
        return (names ?? []).sorted()
    }

    /// How many bytes of unfinished bodies it has written to its disk; it holds the newest 16 KiB back.
    var unfinishedByteCount: Int {
        let files = try? FileManager.default.contentsOfDirectory(
            at: folder.file("body"),
            includingPropertiesForKeys: [.fileSizeKey]
        )
        return (files ?? []).compactMap { try? $0.resourceValues(forKeys: [.fileSizeKey]).fileSize }.reduce(0, +)
    }

    /// The requests that are over, as soon as there are so many.
    func accesses(_ count: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws -> [Access] {
        var accesses: [Access] = []
        try await eventually("fewer than \(count) requests", sourceLocation: sourceLocation) {
            accesses = try Access.all(in: folder.read("access.log"))
            return accesses.count >= count
        }
        return accesses
    }

    /// How many connections are made to it meanwhile.
    func connections(during action: () async throws -> Void) async throws -> Int {
        let before = try Self.connectionCount(at: ports[.plain])
        try await action()
        return try Self.connectionCount(at: ports[.plain]) - before - 1
    }
}
