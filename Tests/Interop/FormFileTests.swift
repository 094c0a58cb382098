import AsyncUpload
import Foundation
import Testing

extension Forms {
    /// Files arrive byte by byte, and the form around them is whole.
    @Suite struct Files {
        let server: FormServer

        init() throws {
            server = try #require(FormServer.current)
        }

        private static func part(_ content: Data, name: String = "file") -> FormPart {
            FormPart(name: name, filename: "a.bin", contentType: "application/octet-stream", content: content)
        }

        @Test("Of any size", arguments: Body.allCases, Carrier.allCases)
        func sizes(body: Body, carrier: Carrier) async throws {
            let uploader = carrier.uploader()
            for size in [0, 1, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537] {
                let bytes = try randomBytes(size)
                var form = MultipartForm()
                form.append(try body.of(bytes, in: server.folder), name: "file", filename: "a.bin")
                let requests = try await server.expect([Self.part(bytes)], in: form, by: uploader)
                let isChunked = body == .streamOfUnknownLength && carrier.streams
                for received in requests {
                    #expect(received.transferEncoding == (isChunked ? "chunked" : nil))
                    #expect(received.contentLength == (isChunked ? nil : "\(received.byteCount)"))
                }
            }
        }

        @Test("Many of them, with fields between them", arguments: Carrier.allCases)
        func many(carrier: Carrier) async throws {
            var form = MultipartForm()
            var parts: [FormPart] = []
            for number in 0..<40 {
                let bytes = try randomBytes(number * 1_000)
                let body = try Body.allCases[number % Body.allCases.count].of(bytes, in: server.folder)
                form.append(body, name: "file \(number)", filename: "a.bin")
                form.append("value \(number)", name: "field")
                parts += [Self.part(bytes, name: "file \(number)"), .field("field", "value \(number)")]
            }
            try await server.expect(parts, in: form, by: carrier.uploader())
        }

        @Test("That end in line breaks, or look like the end of a part", arguments: Body.allCases, Carrier.allCases)
        func likeDelimiters(body: Body, carrier: Carrier) async throws {
            var form = MultipartForm()
            // The beginning of every boundary, and one of another form.
            let other = try #require(UploadBody.multipart(form).contentType?.split(separator: "boundary=").last)
            let beginning = other.prefix { $0 != "-" } + "-"
            let contents = [
                "\r\n", "a\r\n", "a\r", "a\n", "a\n\r", "\r\n\r\n", "\r\r\n", "--", "--\r\n", "\r\n--", "\r\n--\r\n",
                "\r\n----\r\n", "\r\n--\(beginning)", "--\(beginning)--\r\n", "a\r\n--\(other)", "--\(other)\r\n",
                "\r\n--\(other)--\r\n", "\r\n--\(other)\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\nb",
            ].map { Data($0.utf8) }
            for content in contents {
                form.append(try body.of(content, in: server.folder), name: "file", filename: "a.bin")
            }
            try await server.expect(contents.map { Self.part($0) }, in: form, by: carrier.uploader())
        }

        @Test("Every byte there is", arguments: Body.allCases, Carrier.allCases)
        func everyByte(body: Body, carrier: Carrier) async throws {
            // Each follows each.
            let bytes = Data((0...255).flatMap { first in (0...255).flatMap { [UInt8(first), UInt8($0)] } })
            var form = MultipartForm()
            form.append(try body.of(bytes, in: server.folder), name: "file", filename: "a.bin")
            try await server.expect([Self.part(bytes)], in: form, by: carrier.uploader())
        }

        @Test("With the names and types that they have", arguments: Carrier.allCases)
        func types(carrier: Carrier) async throws {
            let file = try server.folder.write("Grüße \(UUID()).JPG", Data("a".utf8))
            var form = MultipartForm()
            form.append(fromFile: file, name: "own")
            form.append(fromFile: file, name: "given", filename: "b.pdf")
            form.append(fromFile: file, name: "both", filename: "", contentType: "text/html; charset=\"utf-8\"")
            let parts = [
                ("own", file.lastPathComponent, "image/jpeg"), ("given", "b.pdf", "application/pdf"),
                ("both", "", "text/html; charset=\"utf-8\""),
            ].map { FormPart(name: $0, filename: $1, contentType: $2, content: Data("a".utf8)) }
            try await server.expect(parts, in: form, by: carrier.uploader())
        }
    }
}
