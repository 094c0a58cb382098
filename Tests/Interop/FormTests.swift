import AsyncUpload
import Foundation
import Testing

extension Forms {
    /// Forms read as what was put into them, whatever that was.
    @Suite struct Contents {
        let server: FormServer

        init() throws {
            server = try #require(FormServer.current)
        }

        @Test("httpbin finds every field and file", arguments: Carrier.allCases)
        func httpbin(carrier: Carrier) async throws {
            let bytes = try Data([0xff, 0x00]) + randomBytes(100_000)
            var form = MultipartForm()
            form.append("Ann", name: "author")
            form.append("one", name: "repeated")
            form.append(.json(["a": 1]), name: "value")
            form.append("two", name: "repeated")
            form.append("", name: "")
            form.append(fromFile: try server.folder.write("\(UUID()).png", bytes), name: "image")
            form.append(.data(Data("Grüße 🎬\r\n".utf8)), name: "text", filename: "text.txt")
            form.append(.stream { AsyncStream(bytes) }, name: "stream", filename: "a", contentType: "a/b")
            form.append(.data(Data()), name: "empty", filename: "")
            let answer: HTTPBinAnswer = try await server.reading("/post", .multipart(form), by: carrier.uploader())
            #expect(
                answer.form == [
                    "author": .one("Ann"), "repeated": .many(["one", "two"]), "value": .one("{\"a\":1}"),
                    "": .one(""),
                ]
            )
            // What is not text comes back with its type.
            let base64 = bytes.base64EncodedString()
            #expect(
                answer.files == [
                    "image": "data:image/png;base64,\(base64)", "text": "Grüße 🎬\r\n",
                    "stream": "data:a/b;base64,\(base64)", "empty": "",
                ]
            )
            #expect(answer.data.isEmpty)
        }

        @Test("A redirect keeps the form", arguments: Carrier.allCases, [307, 308])
        func redirect(carrier: Carrier, status: Int) async throws {
            // Of what nobody has asked for the server reads 64 KiB, and closes the connection if there is more.
            let bytes = try Data([0xff]) + randomBytes(10_000)
            var form = MultipartForm()
            form.append("Ann", name: "author")
            for body in Body.allCases {
                form.append(
                    try body.of(bytes, in: server.folder),
                    name: body.rawValue,
                    filename: "a",
                    contentType: "a/b"
                )
            }
            let answer: HTTPBinAnswer = try await server.reading(
                "/redirect-to?url=/post&status_code=\(status)",
                .multipart(form),
                by: carrier.uploader()
            )
            #expect(answer.form == ["author": .one("Ann")])
            let file = "data:a/b;base64,\(bytes.base64EncodedString())"
            #expect(answer.files == Dictionary(uniqueKeysWithValues: Body.allCases.map { ($0.rawValue, file) }))
        }

        /// The server answers at once, leaves the body unread, and closes the connection without having said so.
        @Test("A redirect of a large form is followed", arguments: Carrier.allCases, Body.allCases)
        func largeRedirect(carrier: Carrier, body: Body) async throws {
            let text = String(decoding: randomLetters(400_000), as: UTF8.self)
            var form = MultipartForm()
            form.append(try body.of(Data(text.utf8), in: server.folder), name: "text")
            try await withKnownIssue("URLSession may send the next request where it is lost", isIntermittent: true) {
                for _ in 0..<5 {
                    let answer: HTTPBinAnswer = try await server.reading(
                        "/redirect-to?url=/post&status_code=307",
                        .multipart(form),
                        by: carrier.uploader()
                    )
                    #expect(answer.form == ["text": .one(text)])
                }
            } when: {
                carrier == .urlSession
            }
        }

        private func randomLetters(_ count: Int) -> [UInt8] {
            (0..<count).map { _ in UInt8.random(in: UInt8(ascii: "a")...UInt8(ascii: "z")) }
        }

        @Test("Parts stay in order, also those with one name", arguments: Carrier.allCases)
        func order(carrier: Carrier) async throws {
            var form = MultipartForm()
            var parts: [FormPart] = []
            for number in 0..<200 {
                let name = "name \(number % 3)"
                if number.isMultiple(of: 7) {
                    form.append(.data(Data("file \(number)".utf8)), name: name, filename: "\(number).bin")
                    var part = FormPart.field(name, "file \(number)")
                    (part.filename, part.contentType) = ("\(number).bin", "application/octet-stream")
                    parts.append(part)
                } else {
                    form.append("\(number)", name: name)
                    parts.append(.field(name, "\(number)"))
                }
            }
            try await server.expect(parts, in: form, by: carrier.uploader())
        }

        @Test("Line breaks of a text become CR LF, those of data stay", arguments: Carrier.allCases)
        func lineBreaks(carrier: Carrier) async throws {
            let texts = [
                ("\n", "\r\n"), ("\r", "\r\n"), ("\r\n", "\r\n"), ("\n\r", "\r\n\r\n"), ("\r\r\n\n", "\r\n\r\n\r\n"),
                ("a\nb\rc\r\nd", "a\r\nb\r\nc\r\nd"), ("ends\n", "ends\r\n"), ("\rbegins", "\r\nbegins"), ("", ""),
                ("--\n--\n", "--\r\n--\r\n"), ("\u{2028}\u{85}\u{b}", "\u{2028}\u{85}\u{b}"),
            ]
            var form = MultipartForm()
            for (text, _) in texts {
                form.append(text, name: "text")
                form.append(.data(Data(text.utf8)), name: "data")
            }
            let parts = texts.flatMap { [FormPart.field("text", $1), .field("data", $0)] }
            try await server.expect(parts, in: form, by: carrier.uploader())
        }

        @Test("A form without parts is the last line only", arguments: Carrier.allCases)
        func empty(carrier: Carrier) async throws {
            // The email package wants a part at least.
            let reading: WerkzeugReading = try await server.reading(
                "/werkzeug",
                .multipart(MultipartForm()),
                by: carrier.uploader()
            )
            #expect(reading.fields.isEmpty && reading.files.isEmpty)
            let boundary = try #require(reading.received.contentType?.split(separator: "boundary=").last)
            #expect(reading.received.byteCount == boundary.utf8.count + 6)
            #expect(reading.received.framing == .init(delimiterCount: 1, startsWithDelimiter: false))
        }

        @Test("A form may hold values, other forms and their files", arguments: Carrier.allCases)
        func nested(carrier: Carrier) async throws {
            let bytes = try randomBytes(70_000)
            var innermost = MultipartForm()
            innermost.append(
                fromFile: try server.folder.write("\(UUID()).bin", bytes),
                name: "deep",
                filename: "deep.bin"
            )
            var inner = MultipartForm()
            inner.append("1\n", name: "a")
            inner.append(.multipart(innermost), name: "innermost")
            let innerBody = UploadBody.multipart(inner)
            var form = MultipartForm()
            form.append(innerBody, name: "inner")
            form.append(.json(["a", "b"]), name: "json")
            form.append(.form(["a": "1 2", "b": "ü"]), name: "fields", filename: "fields")
            let reading: EmailReading = try await server.reading("/email", .multipart(form), by: carrier.uploader())
            #expect(reading.defects.isEmpty)
            #expect(reading.received.framing == .init(delimiterCount: 4))
            #expect(reading.parts.map(\.name) == ["inner", "json", "fields"])
            #expect(reading.parts.map(\.filename) == [nil, nil, "fields"])
            #expect(
                reading.parts.map(\.contentType)
                    == [innerBody.contentType, "application/json", "application/x-www-form-urlencoded"]
            )
            #expect(reading.parts.map(\.content) == ["", "[\"a\",\"b\"]", "a=1+2&b=%C3%BC"].map { Data($0.utf8) })
            let first = try #require(reading.parts.first?.parts)
            #expect(first.map(\.name) == ["a", "innermost"])
            #expect(first.first?.content == Data("1\r\n".utf8))
            let deep = FormPart(
                name: "deep",
                filename: "deep.bin",
                contentType: "application/octet-stream",
                content: bytes
            )
            #expect(first.last?.parts == [deep])
        }
    }
}
