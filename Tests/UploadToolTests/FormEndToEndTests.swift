import Foundation
import LoopbackServer
import Testing

@testable import upload

/// `-F` and `--form-string`, up to the bytes that arrive.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct FormEndToEndTests {
    private let tool: Tool
    private let server: LoopbackServer
    private let file = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 / 11) })

    init() throws {
        Platform.ignoreBrokenPipes()
        tool = try Tool()
        server = try LoopbackServer()
        server.route(nil, "*", LoopbackServer.accept(status: 201, keeping: true, body: "stored"))
        try tool.folder.write("movie.bin", file)
        try tool.folder.write("a.txt", "a\n\0é")
        try tool.folder.write("a;b,c.txt", "semicolon")
        try tool.folder.write("q\"b\\.txt", "quote")
        try tool.folder.write("🎬 é", "emoji")
    }

    private func url(_ path: String = "/form") -> String { server.url(path).absoluteString }

    private func part(_ head: String, _ body: Data) -> Data { Data("\(head)\r\n\r\n".utf8) + body }

    private func field(_ name: String, filename: String? = nil, type: String? = nil, _ body: String) -> Data {
        var head = "Content-Disposition: form-data; name=\"\(name)\""
        if let filename { head += "; filename=\"\(filename)\"" }
        if let type { head += "\r\nContent-Type: \(type)" }
        return part(head, Data(body.utf8))
    }

    private func boundary(_ request: ReceivedRequest) throws -> String {
        let type = try #require(request.header("Content-Type"))
        return String(try #require(type.wholeMatch(of: /multipart\/form-data; boundary=([-0-9A-Za-z]+)/)).1)
    }

    /// Compares all bytes of the only request.
    private func expect(_ parts: [Data]) throws {
        let request = try #require(server.requests.first)
        #expect(server.requests.count == 1)
        let boundary = try boundary(request)
        var body = Data()
        for part in parts { body += Data("--\(boundary)\r\n".utf8) + part + Data("\r\n".utf8) }
        body += Data("--\(boundary)--\r\n".utf8)
        #expect(request.body == body, "\(String(decoding: request.body ?? Data(), as: UTF8.self).prefix(1000))")
    }

    // MARK: Fields and files

    @Test(arguments: Tool.transports)
    func fieldsAndFiles(transport: String) async throws {
        let arguments = ["--transport", transport, "-F", "author=Ann", "--form", "film=@movie.bin;type=video/x"]
        let result = try await tool.run(arguments + ["--form=film=@a.txt", "-Fnote=", url()])
        #expect(result.status == 0)
        #expect(result.text == "stored")
        #expect(result.errors == "")
        let movie = "Content-Disposition: form-data; name=\"film\"; filename=\"movie.bin\"\r\nContent-Type: video/x"
        try expect([
            field("author", "Ann"), part(movie, file), field("film", filename: "a.txt", type: "text/plain", "a\n\0é"),
            field("note", ""),
        ])
        let request = try #require(server.requests.first)
        #expect(request.method == "POST")
        #expect(request.target == "/form")
        #expect(request.header("Content-Length") == (request.body?.count).map(String.init))
        #expect(request.header("Transfer-Encoding") == nil)
    }

    /// The argument, and the name, filename, type and content of the part.
    struct Case: Sendable, CustomTestStringConvertible {
        let argument: String
        let name: String
        var filename: String?
        var type: String?
        let body: String
        var testDescription: String { argument }
    }

    @Test(arguments: [
        Case(argument: "a=b=c@d", name: "a", body: "b=c@d"),
        Case(argument: "say \"hi\"=1", name: "say %22hi%22", body: "1"),
        Case(argument: "🙂;é=🎬", name: "🙂;é", body: "🎬"),
        Case(argument: "a\nb=c\nd", name: "a%0D%0Ab", body: "c\nd"),
        Case(argument: "a=\u{301}e", name: "a", body: "\u{301}e"),
        Case(argument: "a=  b c \t", name: "a", body: "b c"),
        Case(argument: "a=\"  b;c \" ", name: "a", body: "  b;c "),
        Case(argument: "a=\"b\\\"c\\\\d\\e\"", name: "a", body: "b\"c\\d\\e"),
        Case(argument: "a=\"b", name: "a", body: "\"b"),
        Case(argument: "a=b\"c\"", name: "a", body: "b\"c\""),
        Case(argument: "a=b,c", name: "a", body: "b,c"),
        Case(argument: "a=b;", name: "a", body: "b"),
        Case(argument: "a=b;type=x/y; ;filename=c;", name: "a", filename: "c", type: "x/y", body: "b"),
        Case(argument: "a={};type=application/json", name: "a", type: "application/json", body: "{}"),
        Case(
            argument: "a=b ;TYPE=text/plain; charset=\"utf-8\" ; filename= \"c;\\\"d\" ",
            name: "a",
            filename: "c;%22d",
            type: "text/plain; charset=\"utf-8\"",
            body: "b"
        ),
        Case(argument: "a=b;filename=c.csv", name: "a", filename: "c.csv", type: "text/csv", body: "b"),
        Case(argument: "f=@a.txt;filename=é 🙂", name: "f", filename: "é 🙂", type: octets, body: "a\n\0é"),
        Case(argument: "f=@\"a;b,c.txt\";type=x/y", name: "f", filename: "a;b,c.txt", type: "x/y", body: "semicolon"),
        Case(
            argument: "f=@\"q\\\"b\\\\.txt\"",
            name: "f",
            filename: "q%22b\\.txt",
            type: "text/plain",
            body: "quote"
        ),
        Case(argument: "f=@./🎬 é", name: "f", filename: "🎬 é", type: octets, body: "emoji"),
        Case(argument: "f=<a.txt", name: "f", body: "a\n\0é"),
        Case(argument: "f=<\"a;b,c.txt\";type=x/y", name: "f", type: "x/y", body: "semicolon"),
    ])
    func syntax(of test: Case) async throws {
        let result = try await tool.run("-F", test.argument, url())
        #expect(result.status == 0)
        #expect(result.errors == "")
        try expect([field(test.name, filename: test.filename, type: test.type, test.body)])
    }

    private static let octets = "application/octet-stream"

    @Test(arguments: ["@a.txt", "<a.txt", "\"a;b\";type=x/y", " b ", "(x", "c\r\nd"])
    func literal(value: String) async throws {
        let result = try await tool.run("--form-string", "a=\(value)", "--form-string=b=", url())
        #expect(result.status == 0)
        try expect([field("a", value), field("b", "")])
    }

    @Test func severalFilesInOneArgument() async throws {
        let list = "f=@a.txt;filename=1.csv , \"a;b,c.txt\";type=x/y; z=1,🎬 é"
        #expect(try await tool.run("-F", list, url()).status == 0)
        try expect([
            field("f", filename: "1.csv", type: "text/csv", "a\n\0é"),
            field("f", filename: "a;b,c.txt", type: "x/y; z=1", "semicolon"),
            field("f", filename: "🎬 é", type: Self.octets, "emoji"),
        ])
    }

    @Test func methodAndFields() async throws {
        let result = try await tool.run("-v", "-XPUT", "-H", "X-A: 1", "-F", "a=b", "-F", "c=d", url())
        #expect(result.status == 0)
        #expect(result.errorLines.first == "> PUT \(url()) (-F, 2 parts)")
        try expect([field("a", "b"), field("c", "d")])
        #expect(server.requests.first?.method == "PUT")
        #expect(server.requests.first?.header("X-A") == "1")
    }

    // MARK: Standard input

    /// The server has the first bytes before there are any others.
    @Test(.enabled(if: Tool.hasCurl))
    func standardInputGoesOutAsItComes() async throws {
        let pipe = Pipe()
        var tool = tool
        tool.input = pipe
        let start = field("f", filename: "-", type: Self.octets, "first")
        let result = try await tool.run("-F", "f=@-", "-F", "a=b", url()) { _ in
            try pipe.fileHandleForWriting.write(contentsOf: Data("first".utf8))
            try await waitForFirst(start)
            try pipe.fileHandleForWriting.write(contentsOf: Data(" second".utf8))
            try pipe.fileHandleForWriting.close()
        }
        #expect(result.status == 0)
        try expect([field("f", filename: "-", type: Self.octets, "first second"), field("a", "b")])
        #expect(server.requests.first?.header("Content-Length") == nil)
        #expect(server.requests.first?.header("Transfer-Encoding") == "chunked")
    }

    /// Waits until the server has the beginning of the first part, and no more.
    private func waitForFirst(_ start: Data) async throws {
        let snapshot = try await server.wait { !$0.requests.isEmpty }
        let request = try #require(snapshot.requests.first)
        let count = try Int64(boundary(request).utf8.count + "--\r\n".utf8.count + start.count)
        try await server.wait { $0.requests.first?.bodyByteCount == count }
    }

    @Test(arguments: Tool.transports)
    func standardInput(transport: String) async throws {
        let script = ["/bin/bash", "-c", "cat a.txt | \"$0\" \"$@\""]
        let arguments = ["--transport", transport, "-F", "f=@-;filename=x.csv", "-F", "a=b", url()]
        #expect(try await tool.run(arguments, prefix: script).status == 0)
        try expect([field("f", filename: "x.csv", type: "text/csv", "a\n\0é"), field("a", "b")])
    }

    @Test func textFromStandardInput() async throws {
        let script = ["/bin/bash", "-c", "exec \"$0\" \"$@\" < a.txt"]
        #expect(try await tool.run("-F", "f=<-;type=x/y", url(), prefix: script).status == 0)
        try expect([field("f", type: "x/y", "a\n\0é")])
        #expect(server.requests.first?.header("Content-Length") != nil)
    }

    @Test func closedStandardInput() async throws {
        let script = ["/bin/bash", "-c", "exec \"$0\" \"$@\" <&-"]
        let result = try await tool.run("-F", "f=@-", url(), prefix: script)
        #expect(result.status == 26)
        #expect(
            result.errors
                == "upload: -F: The body could not be read: standard input is closed. Check where it comes from.\n"
        )
        #expect(server.requests.filter(\.isComplete).isEmpty)
    }

    // MARK: Failures

    @Test(arguments: ["f=@missing", "f=<missing", "f=@a.txt,missing", "f=@\"missing\";type=x/y"])
    func missingFile(argument: String) async throws {
        let result = try await tool.run("-o", "new", "-F", "a=@-", "-F", "b=@a.txt", "-F", argument, url())
        #expect(result.status == 26)
        #expect(result.errors == "upload: missing: No such file. Check the path.\n")
        #expect(server.connectionCount == 0)
        #expect(try !tool.folder.names.contains("new"))
    }

    @Test func folder() async throws {
        let result = try await tool.run("-F", "f=@.", url())
        #expect(result.status == 26)
        #expect(result.errorLines.count == 1)
        #expect(result.errors.contains(": Not a regular file: "))
        #expect(server.connectionCount == 0)
    }

    @Test func doesNotOverwriteWhatItSends() async throws {
        let result = try await tool.run("-o", "a.txt", "-F", "f=@movie.bin,a.txt", url())
        #expect(result.status == 2)
        #expect(result.errors == "upload: -o would overwrite a.txt; see upload --help\n")
        #expect(server.connectionCount == 0)
    }

    @Test func refusal() async throws {
        server.route(nil, "/no", LoopbackServer.accept(status: 422, body: "too square"))
        let result = try await tool.run("-F", "f=@a.txt", url("/no"))
        #expect(result.status == 22)
        #expect(result.text == "too square")
        #expect(result.errorLines.count == 1)
        #expect(result.errors.hasPrefix("upload: -F: The server refused the upload: 422"))
    }
}
