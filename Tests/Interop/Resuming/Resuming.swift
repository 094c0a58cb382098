import AsyncUpload
import Foundation
import Testing

#if os(Linux)
    private let hasOptionsForTLS = true
#else
    private let hasOptionsForTLS = false
#endif

/// Resumable uploads to servers of others. What these do otherwise than the protocols say is noted where it matters.
@Suite(
    .serialized,
    .enabled("ASYNCUPLOAD_PYTHON names no Python with the servers, or nginx is not installed") {
        await ResumableServer.isInstalled
    },
    .enabled(if: hasOptionsForTLS, "URLSession cannot be told whom to trust"),
    .hasResumableServers,
    .timeLimit(.minutes(5))
)
struct Resuming {}

extension Resuming {
    /// What a test needs: servers, an uploader, and a folder for files.
    struct Bench: Sendable {
        let servers: ResumableServers
        let folder: TemporaryFolder
        let uploader: Uploader

        init() async throws {
            servers = try #require(ResumableServers.current)
            folder = try TemporaryFolder()
            uploader = try await Self.uploader()
        }

        /// One that trusts the authority of the servers, and is patient with them.
        static func uploader(
            _ configure: (inout Uploader.Configuration) -> Void = { _ in }
        ) async throws -> Uploader {
            let certificates = try await Certificates.shared.value
            return Uploader { configuration in
                configuration.tls.certificateAuthorities = .data(certificates[.authority])
                configuration.proxy = .direct
                // A server that starts again needs seconds, and refuses connections until then.
                configuration.retry = .exponential(
                    limit: 100,
                    initialDelay: .milliseconds(20),
                    maximumDelay: .milliseconds(500)
                )
                configure(&configuration)
            }
        }

        func target(_ route: Route, _ options: ResumableTarget.Options = .init()) throws -> ResumableTarget {
            let server = try servers.server(route.kind)
            return try ResumableTarget(at: server, port: servers.port(of: route), isSecure: route.isSecure, options)
        }

        /// A target whose connections are got in the way of.
        func target(
            _ route: Route,
            _ plan: [Relay.Interference],
            _ options: ResumableTarget.Options = .init(),
            waitsForServer: Bool = false
        ) throws -> (ResumableTarget, Relay) {
            // tuspyserver stands still for 30 s when it is sent to while it still has the connection before.
            let waits = waitsForServer || route.kind == .tuspyserver
            let relay = try Relay(to: servers.port(of: route), plan, waitsForServer: waits)
            let server = try servers.server(route.kind)
            return (try ResumableTarget(at: server, port: relay.port, isSecure: route.isSecure, options), relay)
        }

        /// Uploads, and compares what the server has with what it was given.
        @discardableResult
        func expectArrival(
            of bytes: Data,
            as body: Body,
            at target: ResumableTarget,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws -> UploadResponse {
            let response = try await uploader.response(
                for: target.request,
                from: body.of(bytes, in: folder),
                resuming: target.resuming
            )
            #expect(try await target.stored(response) == bytes, sourceLocation: sourceLocation)
            #expect(response.metrics.bytesSent >= bytes.count, sourceLocation: sourceLocation)
            return response
        }
    }
}

extension ResumableServer.Kind {
    /// The size of parts that makes several of a body that is not large. S3 has none below 5 MiB.
    var partSize: Int64 { isS3 ? 5 << 20 : 1 << 20 }

    /// Whether the length of an upload by tus can be told after its first part.
    var defersLength: Bool { self != .resumableUpload && self != .seaweedTus }

    /// Whether there is something to read of an upload without bytes. SeaweedFS waits for a part of it, which is not due.
    var storesNothing: Bool { self != .seaweedTus }
}
