import Foundation
import LoopbackServer
import Testing

@testable import upload

/// The executable against a server in this process; one after the other, to leave the machine some air.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct EndToEndTests {
    let tool: Tool
    let server: LoopbackServer
    private let file = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 / 11) })

    init() throws {
        tool = try Tool()
        server = try LoopbackServer()
        server.route(nil, "*", LoopbackServer.accept(status: 201, keeping: true, body: "stored"))
        try tool.folder.write("movie.bin", file)
    }

    private func url(_ path: String) -> String { server.url(path).absoluteString }

    // MARK: What is sent

    @Test func putsAFile() async throws {
        let result = try await tool.run("movie.bin", url("/up/"))
        #expect(result.status == 0)
        #expect(result.text == "stored")
        #expect(result.errors == "")
        let request = try #require(server.requests.first)
        #expect(server.requests.count == 1)
        #expect(request.method == "PUT")
        #expect(request.target == "/up/movie.bin")
        #expect(request.body == file)
        #expect(request.header("Content-Length") == "300000")
        #expect(request.header("Transfer-Encoding") == nil)
        #expect(request.header("Content-Type") == nil)
        #expect(request.header("User-Agent") == "upload/0.1.0")
    }

    @Test func doesNotOverwriteWhatItSends() async throws {
        let link = tool.folder.url.appendingPathComponent("link")
        try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "movie.bin")
        let result = try await tool.run("-o", "link", "movie.bin", url("/x"))
        #expect(result.status == 2)
        #expect(result.errors == "upload: -o would overwrite movie.bin; see upload --help\n")
        #expect(server.connectionCount == 0)
        #expect(try Data(contentsOf: tool.folder.url.appendingPathComponent("movie.bin")) == file)
    }

    @Test func methodAndFields() async throws {
        let result = try await tool.run(
            "-XPATCH",
            "-H",
            "X-A: 1",
            "--header=User-Agent:",
            "-H",
            "Accept-Language:",
            "movie.bin",
            url("/x")
        )
        #expect(result.status == 0)
        let request = try #require(server.requests.first)
        #expect(request.method == "PATCH")
        #expect(request.target == "/x")
        #expect(request.header("X-A") == "1")
        let keepsDefaults = Platform.valueOfRemovedField == nil
        #expect((request.header("User-Agent") == nil) != keepsDefaults)
        #expect((request.header("Accept-Language") == nil) != keepsDefaults)
    }

    @Test(arguments: [
        (["-u", "me:se:cret"], "Basic bWU6c2U6Y3JldA=="), (["--bearer", "t0k"], "Bearer t0k"),
    ])
    func authorization(arguments: [String], value: String) async throws {
        let other = try LoopbackServer()
        other.route(nil, "*", LoopbackServer.accept(keeping: true))
        server.route(nil, "/away", LoopbackServer.redirect(status: 307, to: other.url("/there").absoluteString))
        let result = try await tool.run(arguments[0], arguments[1], "movie.bin", url("/away"))
        #expect(result.status == 0)
        #expect(server.requests.map { $0.header("Authorization") } == [value])
        #expect(other.requests.map { $0.header("Authorization") } == [nil])
        #expect(other.requests.first?.body == file)
    }

    @Test func json() async throws {
        try tool.folder.write("a.json", "[1, 2]")
        #expect(try await tool.run("--json", "{\"ü\": 1}", url("/j")).status == 0)
        #expect(try await tool.run("--json", "@a.json", url("/j/")).status == 0)
        #expect(server.requests.map(\.method) == ["POST", "POST"])
        #expect(server.requests.map(\.target) == ["/j", "/j/"])
        #expect(server.requests.map { $0.header("Content-Type") } == ["application/json", "application/json"])
        #expect(server.requests.map(\.body) == [Data("{\"ü\": 1}".utf8), Data("[1, 2]".utf8)])
    }

    @Test(arguments: [
        ("a b.txt", "/d/a%20b.txt"), ("a\nb", "/d/a%0Ab"), ("ü+%.txt", "/d/%C3%BC%2B%25.txt"), ("~", "/d/~"),
        ("-X", "/d/-X"),
    ])
    func names(name: String, target: String) async throws {
        try tool.folder.write(name, "x")
        let result = try await tool.run("--progress", "bar", "--", name, url("/d/"))
        #expect(result.status == 0)
        #expect(server.requests.map(\.target) == [target])
        #expect(result.errorLines.count == 1)
    }

    // MARK: What comes back

    @Test func refusal() async throws {
        server.route(nil, "/no", LoopbackServer.accept(status: 422, body: "too square"))
        let result = try await tool.run("movie.bin", url("/no"))
        #expect(result.status == 22)
        #expect(result.text == "too square")
        #expect(result.errorLines.count == 1)
        #expect(result.errors.hasPrefix("upload: movie.bin: The server refused the upload: 422"))
        let silent = try await tool.run("-s", "movie.bin", url("/no"))
        #expect(silent.status == 22)
        #expect(silent.text == "too square")
        #expect(silent.errors == "")
    }

    @Test func outputFile() async throws {
        try tool.folder.write("old", "what was there before")
        let result = try await tool.run("-o", "old", "movie.bin", url("/x"))
        #expect(result.status == 0)
        #expect(result.text == "")
        #expect(try Data(contentsOf: tool.folder.url.appendingPathComponent("old")) == Data("stored".utf8))
        let failure = try await tool.run("-o", "new", "missing", url("/x"))
        #expect(failure.status == 26)
        #expect(try tool.folder.names.sorted() == ["movie.bin", "old"])
        let unwritable = try await tool.run("-o", "no/such/folder", "movie.bin", url("/x"))
        #expect(unwritable.status == 23)
        #expect(
            unwritable.errors
                == "upload: no/such/folder: The response could not be written: No such file or directory. Check the path.\n"
        )
        #expect(server.requests.count == 1)
    }

    @Test func headOfTheResponse() async throws {
        server.route(nil, "/h") { exchange in
            try exchange.readBody()
            try exchange.respond(200, headers: [("X-Id", "7")], body: "body")
        }
        let result = try await tool.run("-i", "movie.bin", url("/h"))
        #expect(result.text.hasPrefix("HTTP/1.1 200 \r\n"))
        #expect(result.text.contains("\r\nX-Id: 7\r\n"))
        #expect(result.text.hasSuffix("\r\n\r\nbody"))
    }

    @Test func verbose() async throws {
        server.route(nil, "/from", LoopbackServer.redirect(status: 308, to: "/to"))
        let result = try await tool.run("-v", "movie.bin", url("/from"))
        #expect(result.status == 0)
        #expect(result.text == "stored")
        #expect(result.errorLines.first == "> PUT \(url("/from")) (movie.bin, 300000 bytes)")
        let requests = result.errorLines.filter { $0.hasPrefix("* movie.bin: request ") }
        try #require(requests.count == 2)
        #expect(requests[0].hasPrefix("* movie.bin: request 1 to \(url("/from")): 308, sent 300000 bytes in 0."))
        #expect(requests[1].hasPrefix("* movie.bin: request 2 to \(url("/to")): 201, sent 300000 bytes in 0."))
        #expect(result.errorLines.contains("< 201"))
        #expect(result.errorLines.last?.hasPrefix("* movie.bin: received 6 bytes, 2 requests in ") == true)
    }

    @Test func closedOutputIsNoCrash() async throws {
        let script = "\"$0\" \"$@\" | true; exit ${PIPESTATUS[0]}"
        server.route(nil, "/big", LoopbackServer.accept(body: String(repeating: "x", count: 1 << 20)))
        let result = try await tool.run("movie.bin", url("/big"), prefix: ["/bin/bash", "-c", script])
        #expect(result.status == 23)
        #expect(result.errors == "")
    }

    /// Without care the response would go to whatever was opened in the place of standard output.
    @Test func missingOutput() async throws {
        let script = ["/bin/bash", "-c", "exec \"$0\" \"$@\" <&- >&-"]
        let result = try await tool.run("movie.bin", url("/x"), prefix: script)
        #expect(result.status == 23)
        #expect(result.errors == "upload: standard output: The response could not be written: Bad file descriptor.\n")
        #expect(server.requests.map(\.body) == [file])
    }

    // MARK: Failures

    @Test func missingFile() async throws {
        let result = try await tool.run("missing", url("/x"))
        #expect(result.status == 26)
        #expect(result.errors == "upload: missing: No such file. Check the path.\n")
        #expect(server.connectionCount == 0)
    }

    /// The demonstration's server, given something else than its file.
    @Test func differenceIsFound() async throws {
        let other = try tool.folder.write("other", file.dropLast() + [0xff])
        server.route(nil, "/same", Demo.comparing(with: tool.folder.path("movie.bin")))
        server.route(nil, "/other", Demo.comparing(with: other.path))
        let same = try await tool.run("movie.bin", url("/same"))
        #expect(same.status == 0)
        #expect(same.text == "300000")
        let result = try await tool.run("movie.bin", url("/other"))
        #expect(result.status == 22)
        #expect(result.text == "Not equal: byte 299999 differs")
    }

    @Test func folderInsteadOfFile() async throws {
        let result = try await tool.run(tool.folder.url.path, url("/x"))
        #expect(result.status == 26)
        #expect(result.errorLines.count == 1)
    }

    @Test func closedPort() async throws {
        let target = url("/x")
        server.stop()
        let result = try await tool.run("--retry", "0", "movie.bin", target)
        #expect(result.status == 7)
        #expect(result.errorLines.count == 1)
        #expect(result.errors.hasPrefix("upload: movie.bin: Could not connect"))
    }

    @Test func redirectLoop() async throws {
        server.route(nil, "/loop", LoopbackServer.redirect(status: 307, to: "/loop"))
        let result = try await tool.run("--max-redirs", "3", "movie.bin", url("/loop"))
        #expect(result.status == 47)
        #expect(result.errorLines.count == 1)
        #expect(server.requests.count == 4)
        #expect(try await tool.run("--no-location", "movie.bin", url("/loop")).status == 22)
        #expect(server.requests.count == 5)
    }

    @Test func lostConnection() async throws {
        // More than the system takes in before the server reads it.
        try tool.folder.write("large.bin", Data(count: 32 << 20))
        server.route(nil, "/cut", LoopbackServer.failing(after: 1000))
        server.route(nil, "/late", LoopbackServer.failing(after: .max))
        let during = try await tool.run("--retry", "0", "large.bin", url("/cut"))
        #expect(during.status == 55)
        #expect(during.errorLines.count == 1)
        let after = try await tool.run("--retry", "0", "movie.bin", url("/late"))
        #expect(after.status == 56)
        #expect(after.errorLines.count == 1)
    }

    @Test(arguments: [["--nope"], ["-P", "0", "movie.bin", "http://h/"], ["-", "http://h/"], ["movie.bin"]])
    func wrongUse(arguments: [String]) async throws {
        let result = try await tool.run(arguments)
        #expect(result.status == 2)
        #expect(result.text == "")
        #expect(result.errorLines.count == 1)
        #expect(result.errors.hasSuffix("; see upload --help\n"))
    }

    @Test func invalidRequest() async throws {
        let result = try await tool.run("-H", "Content-Length: 5", "movie.bin", url("/x"))
        #expect(result.status == 2)
        #expect(result.errorLines.count == 1)
        #expect(server.connectionCount == 0)
    }

    @Test func severalFiles() async throws {
        for name in ["a", "b", "c"] { try tool.folder.write(name, name) }
        server.route(nil, "*", LoopbackServer.echo)
        let result = try await tool.run("-P", "2", "a", "missing", "b", "c", url("/"))
        #expect(result.status == 26)
        #expect(result.text == "abc")
        #expect(result.errors == "upload: missing: No such file. Check the path.\n")
        #expect(server.requests.map(\.target).sorted() == ["/a", "/b", "/c"])
    }

    @Test func firstFailureOfTheCommandLineCounts() async throws {
        server.route(nil, "/b", LoopbackServer.accept(status: 500))
        for name in ["a", "b"] { try tool.folder.write(name, name) }
        let result = try await tool.run("--retry", "0", "a", "b", "missing", url("/"))
        #expect(result.status == 22)
        #expect(result.errorLines.count == 2)
    }

    @Test(.enabled(if: Unprivileged.isPossible))
    func unreadableFile() async throws {
        let unprivileged = try Unprivileged(tool)
        let secret = try tool.folder.write("secret", "x").path
        chmod(secret, 0o600)
        let result = try await tool.run(
            secret,
            url("/x"),
            prefix: Unprivileged.prefix,
            executable: unprivileged.executable
        )
        #expect(result.status == 26)
        #expect(result.errorLines.count == 1)
        #expect(result.errors.contains("Permission denied"))
        #expect(server.connectionCount == 0)
    }

    // MARK: Progress

    @Test func jsonProgress() async throws {
        let result = try await tool.run("--progress", "json", "movie.bin", "missing", url("/"))
        #expect(result.status == 26)
        let events = try result.errorLines.map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        let own = events.filter { $0["file"] as? String == "movie.bin" }
        #expect(own.last?["event"] as? String == "response")
        #expect(own.last?["status"] as? Int == 201)
        let progress = own.dropLast()
        #expect(!progress.isEmpty)
        #expect(progress.allSatisfy { $0["event"] as? String == "progress" && $0["totalBytes"] as? Int == 300_000 })
        #expect(progress.last?["fraction"] as? Double == 1)
        let others = events.filter { $0["file"] as? String == "missing" }
        #expect(others.map { $0["code"] as? String } == ["fileNotFound"])
    }

    @Test func barStays() async throws {
        var tool = tool
        tool.environment["COLUMNS"] = "60"
        let result = try await tool.run("--progress=bar", "movie.bin", url("/"))
        let last = try #require(result.errorLines.last?.split(separator: "\r").last)
        #expect(last.hasPrefix("movie.bin  ████████"))
        #expect(last.contains("  100 %  300 kB"))
        #expect(result.errors.split(separator: "\r").allSatisfy { SafeText.width(of: String($0)) < 60 + 1 })
        tool.environment["LC_ALL"] = "C"
        let ascii = try await tool.run("--progress=bar", "movie.bin", url("/"))
        #expect(ascii.errors.utf8.allSatisfy { $0 < 0x7f })
        #expect(ascii.errors.contains("[####"))
    }

    // MARK: Small things

    @Test func versionAndHelp() async throws {
        #expect(try await tool.run("-V").text == "upload 0.1.0\n")
        let help = try await tool.run("--help")
        #expect(help.status == 0)
        #expect(help.text == HelpText.text)
    }
}
