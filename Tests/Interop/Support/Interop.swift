import AsyncUpload
import Foundation
import Testing

#if os(Linux)
    private let hasOptionsForTLS = true
#else
    private let hasOptionsForTLS = false
#endif

/// Uploads to a real server, one test after the other; each starts a server of its own.
@Suite(
    .serialized,
    .enabled(if: NginxServer.isInstalled, "nginx or openssl is not installed"),
    .enabled(if: hasOptionsForTLS, "URLSession cannot be told whom to trust"),
    .timeLimit(.minutes(5))
)
struct Interop {}

/// Forms, read by parsers of others; one server does it for all tests.
@Suite(
    .enabled("ASYNCUPLOAD_PYTHON names no Python with httpbin, gunicorn and werkzeug") { await FormServer.isInstalled },
    .hasFormServer,
    .timeLimit(.minutes(5))
)
struct Forms {}

/// Where these tests must not be left out, the environment says so.
@Test("The servers are installed where they have to be")
func requirements() async {
    let isRequired = ProcessInfo.processInfo.environment["ASYNCUPLOAD_REQUIRE_INTEROP"] != nil
    #expect(NginxServer.isInstalled || !isRequired)
    let hasFormServer = await FormServer.isInstalled
    #expect(hasFormServer || !isRequired)
    let hasResumableServers = await ResumableServer.isInstalled
    #expect(hasResumableServers || !isRequired)
    #expect(SeaweedFS.isInstalled || !SeaweedFS.isNamed)
}

extension NginxServer {
    /// An uploader that trusts the authority of the server's certificate, and tries again where that may help.
    func uploader(_ configure: (inout Uploader.Configuration) -> Void = { _ in }) -> Uploader {
        Uploader { configuration in
            configuration.tls.certificateAuthorities = .data(certificates[.authority])
            configuration.proxy = .direct
            configuration.retry = .exponential(initialDelay: .milliseconds(10))
            configure(&configuration)
        }
    }
}

/// Bytes that are the same nowhere else.
func randomBytes(_ count: Int) throws -> Data {
    let source = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/dev/urandom"))
    defer { try? source.close() }
    var bytes = Data()
    while bytes.count < count {
        guard let piece = try source.read(upToCount: count - bytes.count) else { break }
        bytes += piece
    }
    return bytes
}

/// Waits until something is so; for what gives no event when it changes.
func eventually(
    _ comment: Comment,
    within limit: Duration = .seconds(10),
    sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while try !condition() {
        guard ContinuousClock.now < deadline else {
            Issue.record(comment, sourceLocation: sourceLocation)
            return
        }
        try await Task.sleep(for: .milliseconds(2))
    }
}
