import Foundation
import LoopbackServer
import Testing

@testable import upload

/// What the options of the transfer do, over the wire.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct TransferEndToEndTests {
    private let tool: Tool
    private let server: LoopbackServer

    init() throws {
        tool = try Tool()
        server = try LoopbackServer(receiveBufferSize: 64 << 10)
        server.route(nil, "*", LoopbackServer.accept(status: 201, keeping: true, body: "stored"))
        try tool.folder.write("movie.bin", Data(count: 300_000))
    }

    private func url(_ path: String, scheme: String = "http") -> String {
        "\(scheme)://127.0.0.1:\(server.port)\(path)"
    }

    private func check(_ result: Tool.Result, _ status: Int32, _ prefix: String) {
        #expect(result.status == status)
        #expect(result.errorLines.count == 1)
        #expect(result.errors.hasPrefix(prefix), "\(result.errors)")
    }

    @Test(arguments: Tool.transports)
    func transport(name: String) async throws {
        let result = try await tool.run("--transport", name, "movie.bin", url("/x"))
        #expect(result.status == 0)
        #expect(result.text == "stored")
        #expect(server.requests.map(\.body) == [Data(count: 300_000)])
    }

    @Test(arguments: [["--limit-rate", "1M"], ["--insecure"]])
    func whatURLSessionCannotDo(option: [String]) async throws {
        let result = try await tool.run(["--transport", "urlsession"] + option + ["movie.bin", url("/x")])
        check(result, 2, "upload: movie.bin: The transport does not support an option: URLSession ")
        #expect(server.connectionCount == 0)
    }

    /// The first piece goes out at once, so it may be a bit faster.
    @Test(.enabled(if: Tool.hasCurl))
    func limitedRate() async throws {
        let result = try await tool.run("--progress", "json", "--limit-rate", "200K", "movie.bin", url("/x"))
        #expect(result.status == 0)
        let event = try JSONSerialization.jsonObject(with: Data(try #require(result.errorLines.last).utf8))
        let seconds = try #require((event as? [String: Any])?["seconds"] as? Double)
        #expect(seconds > 300_000 / (200 * 1024) / 1.5)
    }

    // MARK: Time

    @Test(arguments: Tool.transports)
    func totalTime(transport: String) async throws {
        server.route(nil, "/never", LoopbackServer.neverAnswer)
        let result = try await tool.run("--transport", transport, "--timeout", "0.5", "movie.bin", url("/never"))
        check(result, 28, "upload: movie.bin: It took too long: ")
    }

    @Test(arguments: Tool.transports)
    func stall(transport: String) async throws {
        try tool.folder.write("large.bin", Data(count: 32 << 20))
        let options = ["--transport", transport, "--retry", "0"]
        server.route(nil, "/never") { exchange in
            _ = try exchange.readBody(upTo: 1000)
            exchange.hold()
        }
        let result = try await tool.run(options + ["--stall-timeout", "0.5", "large.bin", url("/never")])
        check(result, 28, "upload: large.bin: Nothing moved for too long")
    }

    /// The system takes the connection, and nobody ever answers what TLS begins with.
    @Test(arguments: Tool.transports)
    func connection(transport: String) async throws {
        let listener = try SilentListener()
        let url = "https://127.0.0.1:\(listener.port)/x"
        let options = ["--transport", transport, "--retry", "0", "--connect-timeout", "0.5"]
        let result = try await tool.run(options + ["movie.bin", url])
        check(result, 28, "upload: movie.bin: It took too long: ")
    }

    // MARK: TLS

    @Test(arguments: ["--cacert", "--cert"])
    func missingFile(flag: String) async throws {
        let result = try await tool.run("-o", "new", flag, "no.pem", "movie.bin", url("/x", scheme: "https"))
        #expect(result.status == 35)
        #expect(
            result.errors
                == "upload: no.pem: The TLS options cannot be used: No such file or directory. "
                + "Check the files of --cacert, --cert and --key.\n"
        )
        #expect(server.connectionCount == 0)
        #expect(try tool.folder.names == ["movie.bin"])
    }

    @Test func missingKeyInJSON() async throws {
        try tool.folder.write("c.pem", "")
        let url = url("/x", scheme: "https")
        let result = try await tool.run("--progress=json", "--cert", "c.pem", "--key", "k.pem", "movie.bin", url)
        #expect(result.status == 35)
        #expect(result.errorLines.count == 1)
        let event = try JSONSerialization.jsonObject(with: Data(result.errors.utf8)) as? [String: Any]
        #expect(event?["code"] as? String == "invalidTLSOptions")
        #expect(event?["file"] as? String == "k.pem")
    }

    @Test(.enabled(if: Tool.hasCurl))
    func fileThatHoldsNoCertificate() async throws {
        let result = try await tool.run("--cacert", "movie.bin", "movie.bin", url("/x", scheme: "https"))
        check(result, 35, "upload: movie.bin: The TLS options cannot be used: ")
    }

    @Test(arguments: Tool.hasCurl ? [[], ["--insecure"]] : [[]])
    func noTLSAtThePort(options: [String]) async throws {
        let result = try await tool.run(options + ["movie.bin", url("/x", scheme: "https")])
        check(result, 35, "upload: movie.bin: No secure connection: ")
    }
}
