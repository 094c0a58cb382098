import Foundation
import LoopbackServer
import Testing

@testable import upload

/// The executable with something to read on standard input.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct StandardInputEndToEndTests {
    private let tool: Tool
    private let piped: Tool
    private let pipe = Pipe()
    private let server: LoopbackServer
    private let file = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 / 11) })

    init() throws {
        Platform.ignoreBrokenPipes()
        var tool = try Tool()
        self.tool = tool
        tool.input = pipe
        piped = tool
        server = try LoopbackServer()
        server.route(nil, "*", LoopbackServer.accept(status: 201, keeping: true, body: "stored"))
        try tool.folder.write("movie.bin", file)
    }

    private func url(_ path: String) -> String { server.url(path).absoluteString }

    /// Runs the tool as a part of a shell's command, `"$0" "$@"`.
    private func run(_ script: String, _ arguments: String...) async throws -> Tool.Result {
        try await tool.run(arguments, prefix: ["/bin/bash", "-c", script])
    }

    private func write(_ text: String) throws {
        try pipe.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    }

    // MARK: What is sent

    /// The server has the first bytes before there are any others.
    @Test func goesOutAsItComes() async throws {
        let result = try await piped.run("-", url("/x")) { _ in
            try write("first")
            try await server.wait { $0.requests.first?.bodyByteCount == 5 }
            try write(" second")
            try pipe.fileHandleForWriting.close()
        }
        #expect(result.status == 0)
        #expect(result.text == "stored")
        #expect(result.errors == "")
        let request = try #require(server.requests.first)
        #expect(request.method == "PUT")
        #expect(request.body == Data("first second".utf8))
        #expect(request.header("Content-Length") == nil)
        #expect(request.header("Transfer-Encoding") == "chunked")
    }

    @Test(arguments: Tool.transports)
    func pipe(transport: String) async throws {
        let script = "cat movie.bin movie.bin movie.bin | \"$0\" \"$@\""
        let result = try await run(script, "--transport", transport, "-", url("/x"))
        #expect(result.status == 0)
        #expect(server.requests.map(\.body) == [file + file + file])
        #expect(try tool.folder.names == ["movie.bin"])
    }

    @Test(arguments: Tool.transports)
    func fileWithItsLength(transport: String) async throws {
        let result = try await run("exec \"$0\" \"$@\" < movie.bin", "--transport", transport, "-", url("/x"))
        #expect(result.status == 0)
        #expect(server.requests.map(\.body) == [file])
        #expect(server.requests.map { $0.header("Content-Length") } == ["300000"])
    }

    @Test func restOfAFile() async throws {
        try tool.folder.write("lines", "one\ntwo\n")
        let result = try await run("{ read; exec \"$0\" \"$@\"; } < lines", "-v", "-", url("/x"))
        #expect(result.status == 0)
        #expect(server.requests.map(\.body) == [Data("two\n".utf8)])
        #expect(server.requests.map { $0.header("Content-Length") } == ["4"])
        #expect(result.errorLines.first == "> PUT \(url("/x")) (-, 4 bytes)")
    }

    @Test func nothing() async throws {
        let result = try await tool.run("-v", "-", url("/x"))
        #expect(result.status == 0)
        #expect(server.requests.map(\.bodyByteCount) == [0])
        #expect(server.requests.map(\.isComplete) == [true])
        #expect(result.errorLines.first == "> PUT \(url("/x")) (-, of unknown length)")
    }

    @Test func json() async throws {
        let result = try await piped.run("--json", "@-", url("/x")) { _ in
            try write("[1, ")
            try write("2]")
            try pipe.fileHandleForWriting.close()
        }
        #expect(result.status == 0)
        let request = try #require(server.requests.first)
        #expect(request.method == "POST")
        #expect(request.body == Data("[1, 2]".utf8))
        #expect(request.header("Content-Length") == "6")
        #expect(request.header("Content-Type") == "application/json")
    }

    // MARK: Failures

    @Test(arguments: [["-"], ["--json", "@-"]])
    func closed(arguments: [String]) async throws {
        let script = ["/bin/bash", "-c", "exec \"$0\" \"$@\" <&-"]
        let result = try await tool.run(["-o", "new"] + arguments + [url("/x")], prefix: script)
        #expect(result.status == 26)
        #expect(
            result.errors
                == "upload: -: The body could not be read: standard input is closed. Check where it comes from.\n"
        )
        #expect(server.requests.filter(\.isComplete).isEmpty)
        #expect(try tool.folder.names == ["movie.bin"])
    }

    @Test func folder() async throws {
        let result = try await run("exec \"$0\" \"$@\" < .", "-", url("/x"))
        #expect(result.status == 26)
        #expect(result.errors.hasPrefix("upload: -: The body could not be read: Is a directory. "))
    }

    /// Whoever writes has not finished, and does not have to.
    @Test func refusalWhileWaiting() async throws {
        server.route(nil, "/no") { exchange in
            _ = try exchange.readBody(upTo: 5)
            try exchange.respond(403, body: "not you")
        }
        let result = try await piped.run("-", url("/no")) { _ in try write("first") }
        #expect(result.status == 22)
        #expect(result.text == "not you")
        #expect(result.errorLines.count == 1)
    }

    @Test func lostConnectionWhileWaiting() async throws {
        server.route(nil, "/cut", LoopbackServer.failing(after: 5, reset: true))
        let result = try await piped.run("-", url("/cut")) { _ in try write("first") }
        #expect(result.status == 55)
        #expect(result.errorLines.count == 1)
        #expect(result.errors.hasPrefix("upload: -: The connection was lost "))
        #expect(result.errors.hasSuffix(". Standard input cannot be sent twice: put it into a file and send that.\n"))
        #expect(server.requests.count == 1)
    }

    /// The status is that of the refusal, which would have been the end without the attempts, too.
    @Test func busyServer() async throws {
        server.route(nil, "/busy", LoopbackServer.accept(status: 503, body: "busy"))
        let result = try await run("echo hello | \"$0\" \"$@\"", "-", url("/busy"))
        #expect(result.status == 22)
        #expect(result.text == "busy")
        #expect(
            result.errors.lowercased() == "upload: -: the server refused the upload: 503 (service unavailable). "
                + "standard input cannot be sent twice: put it into a file and send that.\n"
        )
        #expect(server.requests.count == 1)
    }

    @Test func busyServerInJSON() async throws {
        server.route(nil, "/busy", LoopbackServer.accept(status: 503))
        let script = "echo hello | \"$0\" \"$@\""
        let result = try await run(script, "--progress", "json", "-", url("/busy"))
        #expect(result.status == 22)
        let event = try JSONSerialization.jsonObject(with: Data(try #require(result.errorLines.last).utf8))
        let last = try #require(event as? [String: Any])
        #expect(last["code"] as? String == "bodyNotReplayable")
        #expect(last["status"] as? Int == 503)
    }

    @Test func redirect() async throws {
        server.route(nil, "/from", LoopbackServer.redirect(status: 307, to: "/to"))
        let result = try await run("echo hello | \"$0\" \"$@\"", "-", url("/from"))
        #expect(result.status == 55)
        #expect(result.errorLines.count == 1)
        #expect(result.errors.hasPrefix("upload: -: The body cannot be sent a second time: "))
        #expect(result.errors.hasSuffix(" Put it into a file and send that.\n"))
        #expect(server.requests.map(\.target) == ["/from"])
    }

    @Test func changedFile() async throws {
        let server = try LoopbackServer(receiveBufferSize: 64 << 10)
        let growing = try tool.folder.write("growing", Data(count: 32 << 20))
        server.route(nil, "*", LoopbackServer.appending(to: growing))
        let url = server.url("/x").absoluteString
        let result = try await run("exec \"$0\" \"$@\" < growing", "-", url)
        #expect(result.status == 26)
        #expect(
            result.errors == "upload: -: The file changed while it was sent. Send it again once nothing writes to it.\n"
        )
        let end = try await server.wait { $0.openConnectionCount == 0 }
        #expect(end.requests.map(\.isComplete) == [false])
    }

    @Test func doesNotOverwriteWhatItReads() async throws {
        let result = try await run("exec \"$0\" \"$@\" < movie.bin", "-o", "movie.bin", "-", url("/x"))
        #expect(result.status == 2)
        #expect(result.errors == "upload: -o would overwrite standard input; see upload --help\n")
        #expect(server.connectionCount == 0)
        #expect(try Data(contentsOf: tool.folder.url.appendingPathComponent("movie.bin")) == file)
    }

    // MARK: Interruption

    @Test func interruptedWhileWaiting() async throws {
        let result = try await piped.run("-", url("/x")) { process in
            try write("first")
            try await server.wait { $0.requests.first?.bodyByteCount == 5 }
            kill(process, SIGINT)
        }
        #expect(result.status == 130)
        #expect(result.errors == "upload: interrupted\n")
        let end = try await server.wait { $0.openConnectionCount == 0 }
        #expect(end.requests.map(\.isComplete) == [false])
    }

    /// More than fits into the pipe can only be written when the tool reads already.
    @Test func interruptedWhileJSONIsRead() async throws {
        let result = try await piped.run("-o", "new", "--json", "@-", url("/x")) { process in
            try write(String(repeating: " ", count: 1 << 20))
            kill(process, SIGINT)
        }
        #expect(result.status == 130)
        #expect(result.errors == "upload: interrupted\n")
        #expect(try tool.folder.names == ["movie.bin"])
        #expect(server.connectionCount == 0)
    }

    // MARK: Progress

    @Test func jsonProgress() async throws {
        let result = try await run("cat movie.bin | \"$0\" \"$@\"", "--progress", "json", "-", url("/x"))
        let events = try result.errorLines.map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        #expect(events.allSatisfy { $0["file"] as? String == "-" })
        #expect(events.last?["event"] as? String == "response")
        let progress = events.dropLast()
        #expect(!progress.isEmpty)
        #expect(progress.allSatisfy { $0["event"] as? String == "progress" && $0["totalBytes"] is NSNull })
        #expect(progress.last?["fraction"] as? Double == 1)
        #expect(progress.last?["bytesSent"] as? Int == 300_000)
    }

    @Test func bar() async throws {
        let result = try await run("cat movie.bin | \"$0\" \"$@\"", "--progress", "bar", "-", url("/x"))
        let last = try #require(result.errorLines.last?.split(separator: "\r").last)
        #expect(last.wholeMatch(of: /-  300 kB  [0-9.]+ [kMG]?B\/s  in [0-9.]+ s */) != nil, "\(last)")
    }
}
