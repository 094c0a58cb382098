import Foundation
import Testing

@testable import AsyncUpload

@Suite("Response heads, line by line", .timeLimit(.minutes(5)))
struct ResponseHeadParserTests {
    private func heads(_ lines: String...) throws -> [ResponseHead] {
        try heads(lines.map { Data($0.utf8) })
    }

    private func heads(_ lines: [Data]) throws -> [ResponseHead] {
        var parser = ResponseHeadParser(url: URL(string: "http://a.test/"))
        return lines.compactMap { line in line.withUnsafeBytes { parser.parse($0) } }
    }

    @Test("A head ends with its empty line and not before")
    func inOrder() throws {
        #expect(try heads("HTTP/1.1 200 OK\r\n", "A: 1\r\n").isEmpty)
        #expect(try heads("HTTP/1.1 200 OK\r\n", "A: 1\r\n", "\r").isEmpty)
        let head = try #require(try heads("HTTP/1.1 201 Created\r\n", "A: 1\r\n", "\r\n").first)
        #expect(head.statusCode == 201)
        #expect(head.headers["a"] == "1")
    }

    @Test("Several heads, and trailers, which belong to none")
    func several() throws {
        let all = try heads(
            "HTTP/1.1 100 Continue\r\n",
            "\r\n",
            "HTTP/2 200 \r\n",
            "A:1\r\n",
            "a: 2\r\n",
            "\r\n",
            "B: 3\r\n",
            "\r\n"
        )
        #expect(all.map(\.statusCode) == [100, 200])
        #expect(all.last?.headers["A"] == "1, 2")
        #expect(all.last?.headers["B"] == nil)
    }

    @Test("No reason phrase, bare line feeds, folded lines and Latin-1")
    func oddities() throws {
        let latin1 = Data("X: ".utf8) + [0xE9] + Data("\n".utf8)
        let lines = [Data("HTTP/1.1 200\n".utf8), latin1, Data("Y: a\n".utf8), Data(" b\n".utf8), Data("\n".utf8)]
        let head = try #require(try heads(lines).first)
        #expect(head.statusCode == 200)
        #expect(head.headers["X"] == "\u{e9}")
        #expect(head.headers["Y"] == "a b")
    }

    @Test(
        "What is no head gives none",
        arguments: ["", "\r\n", "garbage\r\n", "HTTP/1.1\r\n", "HTTP/1.1 abc\r\n", ": x\r\n"]
    )
    func garbage(line: String) throws {
        #expect(try heads(line, "\r\n").isEmpty)
    }
}
