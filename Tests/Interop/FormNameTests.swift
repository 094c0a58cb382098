import AsyncUpload
import Foundation
import Testing

extension Forms {
    /// Names and file names as a browser sends them (HTML, "multipart/form-data encoding algorithm"): `"`, CR and LF as `%22`,
    /// `%0D` and `%0A`, and all else as it is.
    ///
    /// `%` itself stays, so that nobody can undo this for certain. Werkzeug makes `"` of `%22`, also where it was that before,
    /// and leaves the rest; the email package leaves everything. Both take a backslash for the escape that it is in HTTP and
    /// mail, and drop it; browsers mean it as it is.
    @Suite struct Names {
        let server: FormServer

        init() throws {
            server = try #require(FormServer.current)
        }

        private struct Case {
            let text: String
            let sentName: String
            let sentFilename: String
            let byWerkzeug: (name: String, filename: String)
            let byEmail: (name: String, filename: String)

            /// One that stays as it is.
            init(_ text: String) {
                self.init(text, sent: text)
            }

            /// One that is the same as a name and as a file name, and that the parsers may read otherwise.
            init(_ text: String, sent: String, byWerkzeug: String? = nil, byEmail: String? = nil) {
                self.text = text
                (sentName, sentFilename) = (sent, sent)
                self.byWerkzeug = (byWerkzeug ?? sent, byWerkzeug ?? sent)
                self.byEmail = (byEmail ?? sent, byEmail ?? sent)
            }

            /// One with line breaks, which become CR LF in names only.
            init(_ text: String, sentName: String, sentFilename: String) {
                self.text = text
                (self.sentName, self.sentFilename) = (sentName, sentFilename)
                (byWerkzeug, byEmail) = ((sentName, sentFilename), (sentName, sentFilename))
            }
        }

        private static let cases = [
            Case("say \"hi\"", sent: "say %22hi%22", byWerkzeug: "say \"hi\""),
            Case("\"", sent: "%22", byWerkzeug: "\""),
            Case("%22", sent: "%22", byWerkzeug: "\""),
            Case("C:\\film\\a.mov", sent: "C:\\film\\a.mov", byWerkzeug: "C:filma.mov", byEmail: "C:filma.mov"),
            Case("a\\\\b", sent: "a\\\\b", byWerkzeug: "a\\b", byEmail: "a\\b"),
            Case("a\\\"b", sent: "a\\%22b", byWerkzeug: "a\"b", byEmail: "a%22b"),
            Case("a\rb", sentName: "a%0D%0Ab", sentFilename: "a%0Db"),
            Case("a\nb", sentName: "a%0D%0Ab", sentFilename: "a%0Ab"),
            Case("a\r\nb", sentName: "a%0D%0Ab", sentFilename: "a%0D%0Ab"),
            Case("\n\r", sentName: "%0D%0A%0D%0A", sentFilename: "%0A%0D"),
            Case(
                "a\r\nContent-Type: text/html\r\n\r\n<p>",
                sentName: "a%0D%0AContent-Type: text/html%0D%0A%0D%0A<p>",
                sentFilename: "a%0D%0AContent-Type: text/html%0D%0A%0D%0A<p>"
            ),
            Case("a;b; filename=c"), Case("%41%0a%"), Case("(a) [b] {c} <d@e>, f: g/h?i=j"), Case("a'b`c"),
            Case("utf-8''a"), Case("=?utf-8?q?=41?=", sent: "=?utf-8?q?=41?=", byEmail: "A"), Case(" a  b "),
            Case("a\tb"), Case("+&="),
            Case("😀👩‍👩‍👧‍👦.png"), Case("שלום עולם.txt"), Case("\u{202e}gnp.exe"), Case("日本語.txt"),
            // These two look the same.
            Case("\u{e9}"), Case("e\u{301}"),
            Case(String(repeating: "a", count: 255)), Case(String(repeating: "é", count: 127) + "a"),
            Case(""),
        ]

        /// A field and a file for each case, with its number as the content.
        private static func form() -> MultipartForm {
            var form = MultipartForm()
            for (number, each) in cases.enumerated() {
                form.append("\(number)", name: each.text)
                form.append(.data(Data("\(number)".utf8)), name: each.text, filename: each.text, contentType: "a/b")
            }
            return form
        }

        private static func parts(
            _ read: (Case) -> (name: String, filename: String)
        ) -> (fields: [FormPart], files: [FormPart]) {
            let fields = cases.enumerated().map { FormPart.field(read($1).name, "\($0)") }
            let files = cases.enumerated().map { number, each in
                let (name, filename) = read(each)
                return FormPart(name: name, filename: filename, contentType: "a/b", content: Data("\(number)".utf8))
            }
            return (fields, files)
        }

        @Test("Read by werkzeug", arguments: Carrier.allCases)
        func werkzeug(carrier: Carrier) async throws {
            let reading: WerkzeugReading = try await server.reading(
                "/werkzeug",
                .multipart(Self.form()),
                by: carrier.uploader()
            )
            let (fields, files) = Self.parts(\.byWerkzeug)
            Self.expect(reading.fields, fields)
            Self.expect(reading.files, files)
        }

        @Test("Read by Python's email package", arguments: Carrier.allCases)
        func email(carrier: Carrier) async throws {
            let reading: EmailReading = try await server.reading(
                "/email",
                .multipart(Self.form()),
                by: carrier.uploader()
            )
            #expect(reading.defects.isEmpty)
            let (fields, files) = Self.parts(\.byEmail)
            Self.expect(reading.parts.filter { $0.filename == nil }, fields)
            Self.expect(reading.parts.filter { $0.filename != nil }, files)
        }

        @Test("Sent as a browser does", arguments: Carrier.allCases)
        func heads(carrier: Carrier) async throws {
            let reading: EmailReading = try await server.reading(
                "/email",
                .multipart(Self.form()),
                by: carrier.uploader()
            )
            let heads = Self.cases.flatMap { each in
                let field = "Content-Disposition: form-data; name=\"\(each.sentName)\""
                return [[field], ["\(field); filename=\"\(each.sentFilename)\"", "Content-Type: a/b"]]
            }
            #expect(reading.received.framing == .init(delimiterCount: heads.count + 1))
            #expect(reading.heads.count == heads.count)
            for (found, expected) in zip(reading.heads, heads) {
                #expect(found.map { Array($0.utf8) } == expected.map { Array($0.utf8) }, "\(found), not \(expected)")
            }
        }

        /// Both parsers take `\"` for a quote in the name, as they do when a browser sends it.
        @Test("A backslash at the end is sent as a browser does", arguments: Carrier.allCases)
        func backslashAtTheEnd(carrier: Carrier) async throws {
            var form = MultipartForm()
            form.append("", name: "a\\")
            form.append(.data(Data()), name: "b\\", filename: "c\\", contentType: "a/b")
            let reading: EmailReading = try await server.reading("/email", .multipart(form), by: carrier.uploader())
            #expect(
                reading.heads == [
                    ["Content-Disposition: form-data; name=\"a\\\""],
                    ["Content-Disposition: form-data; name=\"b\\\"; filename=\"c\\\"", "Content-Type: a/b"],
                ]
            )
        }

        private static func expect(
            _ found: [FormPart],
            _ expected: [FormPart],
            sourceLocation: SourceLocation = #_sourceLocation
        ) {
            #expect(found.count == expected.count, sourceLocation: sourceLocation)
            for (found, expected) in zip(found, expected) {
                #expect(found == expected, sourceLocation: sourceLocation)
            }
        }
    }
}
