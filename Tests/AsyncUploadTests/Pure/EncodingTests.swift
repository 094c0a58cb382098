import Foundation
import Testing

@testable import AsyncUpload

@Suite("URL-encoded forms", .timeLimit(.minutes(5)))
struct FormEncodingTests {
    private func text(_ body: UploadBody) throws -> String {
        String(decoding: try #require(try body.bytes()), as: UTF8.self)
    }

    @Test("Every byte is written as browsers write it")
    func everyByte() throws {
        let ascii = String(String.UnicodeScalarView((0x20..<0x7f).map(Unicode.Scalar.init)))
        #expect(
            try text(.form(["": ascii]))
                == "=+%21%22%23%24%25%26%27%28%29*%2B%2C-.%2F0123456789%3A%3B%3C%3D%3E%3F%40"
                + "ABCDEFGHIJKLMNOPQRSTUVWXYZ%5B%5C%5D%5E_%60abcdefghijklmnopqrstuvwxyz%7B%7C%7D%7E"
        )
        #expect(try text(.form(["ü": "😀\0\u{7f}"])) == "%C3%BC=%F0%9F%98%80%00%7F")
    }

    @Test("Fields keep their order, names come again, values may be empty")
    func order() throws {
        #expect(try text(.form(["b": "1", "a": "2", "b": "", "": ""])) == "b=1&a=2&b=&=")
        #expect(try text(.form([URLQueryItem(name: "a", value: nil)])) == "a=")
        #expect(try text(.form([URLQueryItem]())) == "")
        #expect(UploadBody.form(["a": "b"]).contentType == "application/x-www-form-urlencoded")
    }

    @Test("Line breaks are normalised unless that is not wanted")
    func lineBreaks() throws {
        #expect(try text(.form(["a\r": "b\nc\r\nd"])) == "a%0D%0A=b%0D%0Ac%0D%0Ad")
        #expect(try text(.form(["a\r": "b\nc"], normalizingLineBreaks: false)) == "a%0D=b%0Ac")
    }
}

@Suite("Requests by method", .timeLimit(.minutes(5)))
struct RequestMethodTests {
    @Test("GET with a query that nobody can misread")
    func get() throws {
        let request = try URLRequest.get("http://h/p?x=1%2B1&y#f", query: ["a+b": "1&2=3 %ü", "a+b": "~-._*", "": ""])
        #expect(request.httpMethod == "GET")
        #expect(
            request.url?.absoluteString
                == "http://h/p?x=1%2B1&y&a%2Bb=1%262%3D3%20%25%C3%BC&a%2Bb=~-._%2A&=#f"
        )
        #expect(try URLRequest.get(url("http://h?"), query: ["a": "b"]).url?.absoluteString == "http://h?a=b")
        #expect(try URLRequest.get(url("http://h")).url?.absoluteString == "http://h")
        let item = URLQueryItem(name: "flag", value: nil)
        #expect(try URLRequest.get("http://h", query: [item]).url?.absoluteString == "http://h?flag")
    }

    @Test("POST and PUT")
    func others() throws {
        let form = try URLRequest.post("http://h/", form: ["a": "b c"])
        #expect(form.httpMethod == "POST")
        #expect(form.httpBody == Data("a=b+c".utf8))
        #expect(form.value(forHTTPHeaderField: "Content-Type") == "application/x-www-form-urlencoded")
        let json = try URLRequest.post("http://h/", json: ["a": 1])
        #expect(json.httpBody == Data(#"{"a":1}"#.utf8))
        #expect(json.value(forHTTPHeaderField: "Content-Type") == "application/json")
        #expect(try URLRequest.post(url("http://h/")).httpBody == nil)
        #expect(try URLRequest.put("http://h/").httpMethod == "PUT")
        let error = #expect(throws: UploadError.self) { try URLRequest.post("http://h/", json: Double.nan) }
        #expect(error?.code == .bodyNotEncodable)
    }

    @Test(
        "What is no URL of HTTP throws",
        arguments: ["", " ", "h", "//h/", "/p", "ftp://h/", "http://", "http:///p", "http://h:99999/", "a\0b"]
    )
    func invalid(text: String) {
        let error = #expect(throws: UploadError.self) { try URLRequest.get(text) }
        #expect(error?.code == .invalidRequest)
        if let url = URL(string: text) {
            #expect(throws: UploadError.self) { try URLRequest.put(url) }
        }
        #expect(throws: UploadError.self) { try URLRequest.get("http://h/\(text)\n") }
    }

    @Test("What a URL cannot have is encoded in a text")
    func lenient() throws {
        #expect(try URLRequest.get("http://h/ü x?q=ü").url?.absoluteString == "http://h/%C3%BC%20x?q=%C3%BC")
        #expect(try URLRequest.get("HTTPS://h").url?.absoluteString == "HTTPS://h")
    }

    @Test(
        "A password is in no error, wherever it is",
        arguments: [
            "ftp://u:secret@h/", "https://u:secret@[bad/x", " https://u:secret@h/x", "https://u:secret@h/\u{1}",
            "u:secret@h/x", "https://u:secret@h/%", "https://u:secret@/",
        ]
    )
    func secret(text: String) throws {
        let error = #expect(throws: UploadError.self) { try URLRequest.get(text) }
        #expect(error.map { !"\($0)".contains("secret") } == true)
        guard let url = URL(string: text), !text.hasPrefix("https://u:secret@h/") else { return }
        let late = #expect(throws: UploadError.self) {
            try RequestValidation.check(URLRequest(url: url), bodyLength: 0)
        }
        #expect(late.map { !"\($0)".contains("secret") } == true)
    }

    @Test(
        "What could be meant in two ways is refused",
        arguments: ["http://h/%", "http://h/a%20b?c=%2", "http://h/%zz", #"http://good.test\@evil.test/"#]
    )
    func ambiguous(text: String) {
        #expect(throws: UploadError.self) { try URLRequest.get(text) }
    }
}

@Suite("Character references in HTML", .timeLimit(.minutes(5)))
struct HTMLEntitiesTests {
    @Test(
        "References become their characters, once",
        arguments: [
            ("", ""), ("plain", "plain"), ("&lt;b&gt; &amp;amp; &quot;&apos;", "<b> &amp; \"'"),
            ("&nbsp;&eacute;&Eacute;&yuml;&euro;&hearts;&diams;&thetasym;", "\u{a0}éÉÿ€♥♦ϑ"),
            ("&#233;&#xE9;&#Xe9;&#0233;&#x1F600;", "éééé😀"), ("&#150;&#x80;&#129;", "–€\u{81}"),
            ("&#0;&#xD800;&#x110000;&#999999999;", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"), ("&", "&"), ("&;", "&;"),
            ("&&lt;&", "&<&"), ("&nope;", "&nope;"), ("&lt", "&lt"), ("&LT;", "&LT;"), ("&#;", "&#;"), ("&#x;", "&#x;"),
            ("&#+1;", "&#+1;"), ("&#0000000233;&#x0000000E9;", "éé"), ("&#99999999999;", "\u{fffd}"),
            ("&\u{212A}appa;", "&\u{212A}appa;"), ("&eacute;&;&eacute;", "é&;é"), ("&#xg;", "&#xg;"),
            ("a & b; c", "a & b; c"), ("e&#x301;", "e\u{301}"),
            ("&lang;&rang;&alefsym;&fnof;&OElig;&circ;", "\u{2329}\u{232a}ℵƒŒˆ"),
        ]
    )
    func decoding(text: String, decoded: String) {
        #expect(HTMLEntities.decoded(text).unicodeScalars.elementsEqual(decoded.unicodeScalars))
    }
}

@Suite("Several uploads as one", .timeLimit(.minutes(5)))
struct CombinedTallyTests {
    private func progress(_ fraction: Double, _ bytes: Int64) -> CombinedTally.News {
        .progress(UploadProgress(fraction: fraction, bytesSent: bytes))
    }

    @Test("Bodies count as much as they are long")
    func weighted() {
        var tally = CombinedTally(lengths: [300, 100, 0])
        #expect(tally.progress.totalBytes == 400)
        tally.note(progress(0.5, 150), of: 0)
        #expect(tally.progress.fraction == 0.375)
        #expect(tally.progress.bytesSent == 150)
        // A body that is sent again takes its bytes back, but not the fraction.
        tally.note(progress(0.5, 0), of: 0)
        #expect(tally.progress.fraction == 0.375)
        #expect(tally.progress.bytesSent == 0)
        tally.note(.end(false), of: 0)
        #expect(tally.progress.fraction == 0.75)
        tally.note(.end(true), of: 2)
        #expect(tally.progress.fraction == 0.75)
        tally.note(.end(true), of: 1)
        #expect(tally.progress.fraction == 1)
        #expect(tally.progress.completedCount == 2)
        #expect(tally.progress.failedCount == 1)
        #expect(tally.progress.totalCount == 3)
    }

    @Test("They count the same where a length is not known, or none has a byte", arguments: [[nil, 1000], [0, 0]])
    func unweighted(lengths: [Int64?]) {
        var tally = CombinedTally(lengths: lengths)
        tally.note(.end(true), of: 0)
        #expect(tally.progress.fraction == 0.5)
        tally.note(.end(true), of: 1)
        #expect(tally.progress.fraction == 1)
    }

    @Test("None are done from the start, and too many bytes are no trap")
    func extremes() {
        #expect(CombinedTally(lengths: []).progress.fraction == 1)
        #expect(CombinedTally(lengths: [.max, 1]).progress.totalBytes == nil)
    }
}
