import Foundation
import LoopbackServer
import Testing

@testable import upload

/// Further attempts, against a server that refuses at first. The waits are real, up to half a second and then a second.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct RetryEndToEndTests {
    private let tool: Tool
    private let server: LoopbackServer
    private let file = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 / 11) })

    init() throws {
        tool = try Tool()
        server = try LoopbackServer()
        server.route(nil, "*", LoopbackServer.accept(status: 201, keeping: true, body: "stored"))
        try tool.folder.write("movie.bin", file)
    }

    /// The phrase for the status is the platform's, in upper or lower case.
    private static let refusal = "upload: movie.bin: the server refused the upload: 503 (service unavailable)"

    private func url(_ path: String) -> String { server.url(path).absoluteString }

    /// Refuses, and may say for how long.
    private static func busy(for seconds: Int? = nil) -> LoopbackServer.Handler {
        { exchange in
            try exchange.readBody(keeping: true)
            try exchange.respond(503, headers: seconds.map { [("Retry-After", "\($0)")] } ?? [], body: "busy")
        }
    }

    /// Serves the first requests one after the other, and all further ones like any other path.
    private func route(_ path: String, _ handlers: LoopbackServer.Handler...) {
        let accept = LoopbackServer.accept(status: 201, keeping: true, body: "stored")
        server.route(nil, path) { [weak server] exchange in
            let number = server?.requests.count { $0.target.hasPrefix(path) } ?? 1
            try (number <= handlers.count ? handlers[number - 1] : accept)(exchange)
        }
    }

    private func events(_ result: Tool.Result) throws -> [[String: Any]] {
        try result.errorLines.map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
    }

    /// Runs the tool, does something once it has written a text on standard error, and reads on until another one is there.
    /// It does not wait for the pipe's end: a child that another test starts at the same time may hold that open.
    private func run(
        _ arguments: [String],
        onceSaid text: String,
        until end: String,
        _ action: @escaping (Int32) -> Void
    ) async throws -> (result: Tool.Result, errors: String) {
        var tool = tool
        let pipe = Pipe()
        tool.errors = pipe
        let pieces = pipe.pieces
        var written = Data()
        var isDone = false
        let result = try await tool.run(arguments) { process in
            for await data in pieces {
                written += data
                if !isDone, written.range(of: Data(text.utf8)) != nil {
                    isDone = true
                    action(process)
                }
                if isDone, written.range(of: Data(end.utf8)) != nil { break }
            }
        }
        #expect(isDone)
        return (result, String(decoding: written, as: UTF8.self))
    }

    // MARK: Whether

    @Test(arguments: Tool.transports)
    func acceptedAtLast(transport: String) async throws {
        route("/x", Self.busy(), Self.busy())
        let result = try await tool.run("--transport", transport, "movie.bin", url("/x"))
        #expect(result.status == 0)
        #expect(result.text == "stored")
        #expect(result.errors == "")
        #expect(server.requests.map(\.status) == [503, 503, 201])
        #expect(server.requests.map(\.body) == [file, file, file])
    }

    @Test func none() async throws {
        server.route(nil, "/x", Self.busy())
        let result = try await tool.run("--retry", "0", "movie.bin", url("/x"))
        #expect(result.status == 22)
        #expect(result.text == "busy")
        #expect(result.errors.lowercased() == Self.refusal + ". see the response's body.\n")
        #expect(server.requests.count == 1)
    }

    @Test func givesUp() async throws {
        server.route(nil, "/x", Self.busy())
        let result = try await tool.run("--retry", "1", "movie.bin", url("/x"))
        #expect(result.status == 22)
        #expect(result.text == "busy")
        #expect(result.errors.lowercased() == Self.refusal + ", after 2 requests. see the response's body.\n")
        #expect(server.requests.count == 2)
    }

    @Test func refusalForGood() async throws {
        server.route(nil, "/x", LoopbackServer.accept(status: 403))
        #expect(try await tool.run("movie.bin", url("/x")).status == 22)
        #expect(server.requests.count == 1)
    }

    @Test func postIsSentOnce() async throws {
        route("/x", Self.busy())
        let result = try await tool.run("-d", "a=b", url("/x"))
        #expect(result.status == 22)
        #expect(result.text == "busy")
        #expect(server.requests.count == 1)
    }

    @Test(arguments: [["--retry-all"], ["-H", "Idempotency-Key: 1"]])
    func postThatMayBeSentAgain(option: [String]) async throws {
        route("/x", Self.busy())
        let result = try await tool.run(option + ["-d", "a=b", url("/x")])
        #expect(result.status == 0)
        #expect(result.text == "stored")
        #expect(server.requests.map(\.method) == ["POST", "POST"])
        #expect(server.requests.map(\.body) == [Data("a=b".utf8), Data("a=b".utf8)])
    }

    @Test func resetConnection() async throws {
        route("/x", LoopbackServer.failing(after: 1000, reset: true))
        let result = try await tool.run("movie.bin", url("/x"))
        #expect(result.status == 0)
        #expect(result.errors == "")
        #expect(server.requests.map(\.status) == [nil, 201])
        #expect(server.requests.last?.body == file)
    }

    @Test(arguments: [["movie.bin"], ["-d", "a=b"], ["-"]])
    func closedPort(source: [String]) async throws {
        let target = url("/x")
        server.stop()
        let start = ContinuousClock.now
        let result = try await tool.run(["--retry", "1"] + source + [target])
        #expect(result.status == 7)
        #expect(result.errorLines.count == 1)
        #expect(result.errors.hasPrefix("upload: \(source[0]): Could not connect"))
        #expect(result.errors.contains(", after 2 requests. "))
        #expect(.now - start < .seconds(20))
    }

    // MARK: Time

    /// Five more attempts would take up to a quarter of a minute.
    @Test func waitsCountForTheTotalTime() async throws {
        server.route(nil, "/x", Self.busy())
        let start = ContinuousClock.now
        let result = try await tool.run("--timeout", "1", "--retry", "5", "movie.bin", url("/x"))
        #expect([22, 28].contains(result.status))
        #expect(result.errorLines.count == 1)
        #expect(.now - start < .seconds(6))
    }

    /// A server that wants to be left alone for longer than there is time is not waited for.
    @Test func waitThatIsTooLong() async throws {
        server.route(nil, "/x", Self.busy(for: 50))
        let result = try await tool.run("--timeout", "20", "movie.bin", url("/x"))
        #expect(result.status == 22)
        #expect(server.requests.count == 1)
    }

    @Test func standstillEndsAnAttemptOnly() async throws {
        route("/x") { exchange in
            _ = try exchange.readBody(upTo: 1000)
            exchange.hold()
        }
        try tool.folder.write("large.bin", Data(count: 32 << 20))
        let result = try await tool.run("--stall-timeout", "1", "large.bin", url("/x"))
        #expect(result.status == 0)
        #expect(server.requests.count >= 2)
    }

    @Test(arguments: ["bar", "json"])
    func interruptedWhileWaiting(progress: String) async throws {
        server.route(nil, "/x", Self.busy(for: 100))
        let isBar = progress == "bar"
        let (result, errors) = try await run(
            ["--progress", progress, "movie.bin", url("/x")],
            onceSaid: isBar ? "retrying in 1:" : "\"retryingIn\":",
            until: isBar ? "upload: interrupted\n" : "\"code\":\"interrupted\""
        ) {
            kill($0, SIGINT)
        }
        #expect(result.status == 130)
        #expect(result.text == "")
        #expect(server.requests.count == 1)
        if isBar { #expect(errors.hasSuffix("\nupload: interrupted\n")) }
    }

    // MARK: What is told

    @Test func bar() async throws {
        var tool = tool
        tool.environment["COLUMNS"] = "80"
        route("/x", Self.busy(for: 2))
        let result = try await tool.run("--progress", "bar", "movie.bin", url("/x"))
        #expect(result.status == 0)
        let frames = result.errors.split(whereSeparator: \.isNewline)
        #expect(frames.allSatisfy { SafeText.width(of: String($0)) < 80 })
        // It is no terminal: the seconds are not counted down.
        let waits = frames.filter { $0.contains("retrying") }
        #expect(waits.count == 1)
        #expect(waits.first?.contains(#/100 %  300 kB  retrying in [12] s \(503\)/#) == true)
        #expect(frames.last?.contains("  100 %  300 kB  ") == true)
        #expect(frames.last?.contains("  in ") == true)
    }

    @Test func barOfSeveralFiles() async throws {
        var tool = tool
        tool.environment["COLUMNS"] = "100"
        try tool.folder.write("a", "a")
        route("/a", Self.busy(for: 1))
        let result = try await tool.run("--progress", "bar", "a", "movie.bin", url("/"))
        #expect(result.status == 0)
        let frames = result.errors.split(whereSeparator: \.isNewline)
        #expect(frames.contains { $0.contains("  1 retrying") })
        #expect(frames.last?.hasPrefix("2 of 2 files  ") == true)
    }

    @Test func json() async throws {
        route("/x", Self.busy(for: 1))
        let result = try await tool.run("--progress", "json", "movie.bin", url("/x"))
        #expect(result.status == 0)
        let events = try events(result)
        let waits = events.filter { $0["retryingIn"] != nil }
        #expect(!waits.isEmpty)
        for wait in waits {
            #expect(wait["event"] as? String == "progress")
            #expect(wait["retryReason"] as? String == "503")
            #expect(wait["attempt"] as? Int == 1)
            #expect((0...1).contains(try #require(wait["retryingIn"] as? Double)))
        }
        #expect(events.filter { $0["retryReason"] != nil }.count == waits.count)
        #expect(events.last?["event"] as? String == "response")
        #expect(events.last?["attempts"] as? Int == 2)
    }

    @Test func verbose() async throws {
        route("/x", Self.busy())
        let result = try await tool.run("-v", "movie.bin", url("/x") + "?token=secret")
        #expect(result.status == 0)
        let lines = result.errorLines
        try #require(lines.count > 5)
        #expect(lines[0] == "> PUT \(url("/x"))?... (movie.bin, 300000 bytes)")
        #expect(lines[1].hasPrefix("* movie.bin: request 1 to \(url("/x"))?...: 503, sent 300000 bytes in "))
        #expect(lines[2].wholeMatch(of: /\* movie.bin: retrying in 0\.[0-9]{3} s \(503\)/) != nil, "\(lines[2])")
        #expect(lines[3].hasPrefix("* movie.bin: request 2 to \(url("/x"))?...: 201, sent 300000 bytes in "))
        #expect(lines[4] == "< 201")
        #expect(lines.last?.hasPrefix("* movie.bin: received 6 bytes, 2 requests in ") == true)
        #expect(!result.errors.contains("secret"))
    }

    @Test func verboseFailure() async throws {
        let target = url("/x")
        server.stop()
        let result = try await tool.run("-v", "--retry", "1", "movie.bin", target)
        #expect(result.status == 7)
        let lines = result.errorLines
        try #require(lines.count == 6)
        #expect(lines[1].hasPrefix("* movie.bin: request 1 to \(target): no connection, sent 0 bytes in "))
        #expect(lines[2].hasSuffix(" s (no connection)"))
        #expect(lines[3].hasPrefix("* movie.bin: request 2 to \(target): no connection, "))
        #expect(lines[4] == "* movie.bin: no response")
        #expect(lines[5].hasPrefix("upload: movie.bin: Could not connect"))
    }
}
