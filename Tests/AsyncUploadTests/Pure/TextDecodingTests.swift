import Foundation
import Testing

@testable import AsyncUpload

@Suite("A response's body as text", .timeLimit(.minutes(5)))
struct TextDecodingTests {
    private func text(_ body: [UInt8], _ contentType: String?) -> String {
        TextDecoding.text(of: Data(body), contentType: contentType)
    }

    @Test(
        "The charset is honoured where it is known",
        arguments: [
            ("text/plain; charset=utf-8", [0xC3, 0xA9]), ("text/plain; charset=UTF8", [0xC3, 0xA9]),
            ("text/plain;charset=iso-8859-1", [0xE9]), ("text/plain; charset=Latin1", [0xE9]),
            ("text/plain; charset=utf-16le", [0xE9, 0]), ("text/plain; charset=utf-16be", [0, 0xE9]),
            ("text/plain; charset=utf-16", [0xFE, 0xFF, 0, 0xE9]),
            ("text/plain; charset=utf-16", [0xFF, 0xFE, 0xE9, 0]),
            ("text/plain; x=y; CHARSET=\"iso-8859-1\"", [0xE9]), ("text/plain ; charset = iso-8859-1 ", [0xE9]),
        ] as [(String, [UInt8])]
    )
    func charsets(contentType: String, body: [UInt8]) {
        #expect(text(body, contentType) == "é")
    }

    @Test(
        "Without one that is known it is UTF-8, and ISO-8859-1 if it cannot be that",
        arguments: [nil, "", "text/plain", "text/plain; charset=klingon", "text/plain; charset", "charset=utf-16le"]
    )
    func fallback(contentType: String?) {
        #expect(text([0xC3, 0xA9], contentType) == "é")
        #expect(text([0xE9], contentType) == "é")
        #expect(text([], contentType) == "")
    }

    @Test("US-ASCII is read as such", arguments: ["us-ascii", "ASCII"])
    func ascii(charset: String) {
        #expect(TextDecoding.encoding(of: "text/plain; charset=\(charset)") == .ascii)
        #expect(text([0x61], "text/plain; charset=\(charset)") == "a")
    }

    @Test("Bytes that do not fit the charset that was announced become U+FFFD", arguments: ["utf-8", "us-ascii"])
    func invalid(charset: String) {
        #expect(text([0x61, 0xE9], "text/plain; charset=\(charset)") == "a\u{FFFD}")
    }

    @Test("Every body gives a text", arguments: ["utf-8", "utf-16", "utf-16le", "us-ascii", "iso-8859-1"])
    func everything(charset: String) {
        #expect(!text([0xFF, 0xD8, 0x00], "text/plain; charset=\(charset)").isEmpty)
    }

    @Test("A parameter is found by its name, without its quotes")
    func parameters() {
        let type = "multipart/mixed; a=1; Boundary=\"x y=z\"; b"
        #expect(TextDecoding.parameter("boundary", of: type) == "x y=z")
        #expect(TextDecoding.parameter("a", of: type) == "1")
        #expect(TextDecoding.parameter("b", of: type) == nil)
        #expect(TextDecoding.parameter("c", of: type) == nil)
        #expect(TextDecoding.parameter("charset", of: "charset=utf-8") == nil)
    }

    @Test("A semicolon in quotes does not end a parameter (RFC 9110 §5.6.6)")
    func quotedSemicolon() {
        #expect(TextDecoding.parameter("charset", of: "a/b; x=\"y;charset=latin1\"; charset=utf-8") == "utf-8")
    }
}
