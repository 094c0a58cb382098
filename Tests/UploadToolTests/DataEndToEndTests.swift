import Foundation
import LoopbackServer
import Testing

@testable import upload

/// `-d` and its relatives, up to the bytes that arrive.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct DataEndToEndTests {
    private let tool: Tool
    private let server: LoopbackServer
    private static let type = "application/x-www-form-urlencoded"
    private static let bytes = Data("l1\r\nl 2\n\0&é".utf8) + [0xff]

    init() throws {
        tool = try Tool()
        server = try LoopbackServer()
        server.route(nil, "*", LoopbackServer.accept(status: 201, keeping: true, body: "stored"))
        try tool.folder.write("f", Self.bytes)
        try tool.folder.write("g=h", "other")
    }

    private func url(_ path: String = "/data") -> String { server.url(path).absoluteString }

    /// Runs the tool as a part of a shell's command, `"$0" "$@"`.
    private func run(_ script: String, _ arguments: [String]) async throws -> Tool.Result {
        try await tool.run(arguments + [url()], prefix: ["/bin/bash", "-c", script])
    }

    /// Compares the only request.
    private func expect(_ body: Data, length: Bool = true) {
        #expect(server.requests.map(\.body) == [body])
        #expect(server.requests.map(\.method) == ["POST"])
        #expect(server.requests.map { $0.headers("Content-Type") } == [[Self.type]])
        if length { #expect(server.requests.map { $0.header("Content-Length") } == ["\(body.count)"]) }
    }

    // MARK: What is sent

    @Test(
        arguments: [
            (["-d", "a=1"], "a=1"),
            (["-da=1", "--data", "b=\"2\n🙂\"", "--data=c"], "a=1&b=\"2\n🙂\"&c"),
            (["-d", ""], ""),
            (["-d", "", "-d", "a", "-d", ""], "&a&"),
            (["-d", "@f"], nil),
            (["-d", "x@f"], "x@f"),
            (["--data-raw", "@f"], "@f"),
            (["--data-raw", "@", "-d", "b"], "@&b"),
            (["--data-binary", "a\r\nb"], "a\r\nb"),
            (["--data-urlencode", "a b+c/~*-._é🙂"], "a+b%2Bc%2F%7E*-._%C3%A9%F0%9F%99%82"),
            (["--data-urlencode", "=a=b@c&"], "a%3Db%40c%26"),
            (["--data-urlencode", "n m\"é=a=b@f\r\n"], "n m\"é=a%3Db%40f%0D%0A"),
            (["--data-urlencode", "n="], "n="),
            (["--data-urlencode", "@f"], "l1%0D%0Al+2%0A%00%26%C3%A9%FF"),
            (["--data-urlencode", "n@f"], "n=l1%0D%0Al+2%0A%00%26%C3%A9%FF"),
            (["--data-urlencode", "a@g=h"], "a@g=h"),
            (["--data-urlencode", "n=\u{301}e"], "n=%CC%81e"),
            (["-d", "a", "--data-urlencode", "b= ", "--data-raw", "@c", "--data-binary", "@g=h"], "a&b=+&@c&other"),
        ] as [([String], String?)]
    )
    func data(arguments: [String], body: String?) async throws {
        let result = try await tool.run(arguments + [url()])
        #expect(result.status == 0)
        #expect(result.text == "stored")
        #expect(result.errors == "")
        // The file without CR, LF and NUL is no UTF-8.
        expect(body.map { Data($0.utf8) } ?? Data("l1l 2&é".utf8) + [0xff])
    }

    @Test(arguments: Tool.transports)
    func binaryFile(transport: String) async throws {
        let arguments = ["--transport", transport, "--data-binary", "@f", url()]
        #expect(try await tool.run(arguments).status == 0)
        expect(Self.bytes)
    }

    @Test func binaryFileAmongOthers() async throws {
        #expect(try await tool.run("--data-binary", "@f", "-d", "a", url()).status == 0)
        expect(Self.bytes + Data("&a".utf8))
    }

    @Test func methodAndType() async throws {
        let result = try await tool.run("-v", "-X", "PATCH", "-d", "{}", "-H", "content-type: a/b", url())
        #expect(result.status == 0)
        #expect(result.errorLines.first == "> PATCH \(url()) (-d, 2 bytes)")
        #expect(server.requests.map(\.method) == ["PATCH"])
        #expect(server.requests.map { $0.headers("Content-Type") } == [["a/b"]])
        #expect(server.requests.map(\.body) == [Data("{}".utf8)])
    }

    // MARK: Standard input

    @Test(arguments: [
        (["-d", "@-"], Data("l1l 2&é".utf8) + [0xff]),
        (["--data-binary", "@-"], bytes),
        (["--data-urlencode", "n@-"], Data("n=l1%0D%0Al+2%0A%00%26%C3%A9%FF".utf8)),
        (["-d", "a", "--data-binary", "@-", "-d", "b"], Data("a&".utf8) + bytes + Data("&b".utf8)),
    ])
    func standardInput(arguments: [String], body: Data) async throws {
        #expect(try await run("cat f | \"$0\" \"$@\"", arguments).status == 0)
        expect(body)
    }

    @Test func restOfAFile() async throws {
        let result = try await run("{ read; exec \"$0\" \"$@\"; } < f", ["--data-binary", "@-"])
        #expect(result.status == 0)
        expect(Data(Self.bytes.dropFirst(4)))
    }

    @Test(arguments: [["-d", "@-"], ["--data-binary", "@-"], ["--data-urlencode", "@-"]])
    func closedStandardInput(arguments: [String]) async throws {
        let result = try await run("exec \"$0\" \"$@\" <&-", arguments)
        #expect(result.status == 26)
        #expect(
            result.errors
                == "upload: -: The body could not be read: standard input is closed. Check where it comes from.\n"
        )
        #expect(server.connectionCount == 0)
    }

    // MARK: Failures

    @Test(arguments: [
        ["-d", "@missing"], ["--data-binary", "@missing"], ["-d", "a", "--data-binary", "@missing"],
        ["--data-urlencode", "@missing"], ["--data-urlencode", "n@missing"], ["--json", "@missing"],
    ])
    func missingFile(arguments: [String]) async throws {
        let result = try await tool.run(["-o", "new"] + arguments + [url()])
        #expect(result.status == 26)
        #expect(result.errors == "upload: missing: No such file. Check the path.\n")
        #expect(server.connectionCount == 0)
        #expect(try tool.folder.names.sorted() == ["f", "g=h"])
    }

    @Test func missingFileInJSON() async throws {
        let result = try await tool.run("--progress", "json", "-d", "@missing", url())
        #expect(result.status == 26)
        #expect(result.errorLines.count == 1)
        let event = try JSONSerialization.jsonObject(with: Data(result.errors.utf8)) as? [String: Any]
        #expect(event?["code"] as? String == "fileNotFound")
        #expect(event?["file"] as? String == "missing")
    }

    @Test func folder() async throws {
        let result = try await tool.run("-d", "@.", url())
        #expect(result.status == 26)
        #expect(result.errors == "upload: .: Not a regular file. Give the path of a regular file.\n")
    }

    @Test(arguments: [["-d", "@f"], ["-d", "a", "--data-urlencode", "n@f"], ["--json", "@f"]])
    func doesNotOverwriteWhatItSends(arguments: [String]) async throws {
        let result = try await tool.run(["-o", "f"] + arguments + [url()])
        #expect(result.status == 2)
        #expect(result.errors == "upload: -o would overwrite f; see upload --help\n")
        #expect(server.connectionCount == 0)
    }

    /// What has been read into memory would not notice.
    @Test func binaryFileStaysOutOfMemory() async throws {
        let server = try LoopbackServer(receiveBufferSize: 64 << 10)
        let growing = try tool.folder.write("growing", Data(count: 32 << 20))
        server.route(nil, "*", LoopbackServer.appending(to: growing))
        let result = try await tool.run("--data-binary", "@growing", server.url("/x").absoluteString)
        #expect(result.status == 26)
        #expect(result.errors.hasPrefix("upload: growing: The file changed while it was sent"))
    }

    // MARK: Wrong use

    @Test(arguments: [
        (["-F", "a=b", "-d", "c"], "-F and -d do not go together: a request has one body"),
        (
            ["--data-raw", "c", "--form-string", "a=b"],
            "--data-raw and --form-string do not go together: a request has one body"
        ),
        (["--json", "{}", "-F", "a=b"], "--json and -F do not go together: a request has one body"),
        (["-d", "a", "--json", "{}"], "-d and --json do not go together: a request has one body"),
        (["-F", "a=b", "f"], "-F takes a URL and no FILE"),
        (["f", "-d", "a"], "-d takes a URL and no FILE"),
        (["-d", "@-", "-"], "-d takes a URL and no FILE"),
        (["--json", "{}", "f", "g=h"], "--json takes a URL and no FILE"),
        (["-F", "a=@-", "-F", "b=<-"], "standard input can be read only once, and -F wants it again"),
    ])
    func conflict(arguments: [String], message: String) async throws {
        let result = try await tool.run(arguments + [url()])
        #expect(result.status == 2)
        #expect(result.text == "")
        #expect(result.errors == "upload: \(message); see upload --help\n")
        #expect(server.connectionCount == 0)
    }
}
