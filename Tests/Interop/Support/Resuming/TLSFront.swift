import Foundation
import Testing

/// An nginx that speaks TLS for a server that does not. See `tls_front.conf`.
final class TLSFront: Sendable {
    struct Failure: Error {
        let reason: String
    }

    let port: UInt16
    private let folder: TemporaryFolder
    private let process: ServerProcess

    /// Starts one and waits until it listens.
    init(of server: UInt16) async throws {
        guard let nginx = Program("nginx") else { throw Failure(reason: "nginx is not installed") }
        let certificates = try await Certificates.shared.value
        folder = try TemporaryFolder()
        for name in [Certificates.Name.server, .serverKey] { try folder.write(name.rawValue, certificates[name]) }
        (port, process) = try await Self.start(nginx, in: folder, server)
    }

    /// Somebody else may take a port after it was found to be free.
    private static func start(
        _ nginx: Program,
        in folder: TemporaryFolder,
        _ server: UInt16
    ) async throws -> (UInt16, ServerProcess) {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../tls_front.conf")
        let template = try String(contentsOf: file, encoding: .utf8).replacing("@SERVER@", with: "\(server)")
        for _ in 1...5 {
            let port = try Loopback.freePorts(1)[0]
            try folder.write("nginx.conf", Data(template.replacing("@TLS@", with: "\(port)").utf8))
            let arguments = ["-p", folder.url.path, "-c", folder.file("nginx.conf").path]
            let process = try ServerProcess(nginx, arguments, in: folder)
            // What is not TLS is answered by 400.
            try await eventually("no answer from nginx") {
                !process.isRunning || (try? Loopback.get("/", port: port))?.contains(" 400 ") == true
            }
            if process.isRunning { return (port, process) }
        }
        throw Failure(reason: String(decoding: try folder.read("output"), as: UTF8.self))
    }

    /// Stops it, and waits until it has ended.
    func end() async {
        await process.ended()
    }
}
