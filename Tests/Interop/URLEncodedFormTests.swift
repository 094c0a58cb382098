import AsyncUpload
import Foundation
import Testing

extension Forms {
    /// Forms as `application/x-www-form-urlencoded` read as what was put into them.
    @Suite struct URLEncoded {
        let server: FormServer

        init() throws {
            server = try #require(FormServer.current)
        }

        private struct Reading: Decodable {
            let received: ReceivedRequest
            /// The body itself.
            let text: String
            /// Names and values by `urllib`.
            let pairs: [[String]]
            let werkzeugPairs: [[String]]
        }

        /// Sends it as a body and as a request, and checks that both ways everybody reads the same.
        private func expect(
            _ pairs: KeyValuePairs<String, String>,
            in fields: KeyValuePairs<String, String>,
            by uploader: Uploader,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws -> String {
            let items = fields.map { URLQueryItem(name: $0.key, value: $0.value) }
            let path = "/urlencoded"
            let readings: [Reading] = [
                try await server.reading(path, .form(fields), by: uploader),
                try await server.reading(path, .form(items), by: uploader),
                try await uploader.send(.post(server.url(path), form: fields)).decode(),
                try await uploader.send(.post(server.url(path), form: items)).decode(),
            ]
            for reading in readings {
                try expect(pairs, reading, sourceLocation: sourceLocation)
                #expect(reading.text == readings[0].text, sourceLocation: sourceLocation)
            }
            return readings[0].text
        }

        private func expect(
            _ pairs: KeyValuePairs<String, String>,
            _ reading: Reading,
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            for found in [reading.pairs, reading.werkzeugPairs] {
                let found = found.map { $0.map { Array($0.utf8) } }
                #expect(
                    found == pairs.map { [Array($0.key.utf8), Array($0.value.utf8)] },
                    sourceLocation: sourceLocation
                )
            }
            let received = reading.received
            #expect(received.contentType == "application/x-www-form-urlencoded", sourceLocation: sourceLocation)
            #expect(received.contentLength == "\(received.byteCount)", sourceLocation: sourceLocation)
            #expect(received.transferEncoding == nil, sourceLocation: sourceLocation)
        }

        @Test("Names and values come in order, also equal and empty ones", arguments: Carrier.allCases)
        func order(carrier: Carrier) async throws {
            let fields: KeyValuePairs = [
                "b": "1", "a": "2", "b": "3", "": "4", "c": "", "": "", "a": "2", "d": "5", "B": "6",
            ]
            let text = try await expect(fields, in: fields, by: carrier.uploader())
            #expect(text == "b=1&a=2&b=3&=4&c=&=&a=2&d=5&B=6")
        }

        @Test("Every character comes through", arguments: Carrier.allCases)
        func characters(carrier: Carrier) async throws {
            let ascii = String(String.UnicodeScalarView((0x20...0x7e).compactMap(Unicode.Scalar.init)))
            let fields: KeyValuePairs = [
                "+ & = % ~ *": "+ & = % ~ *", "%41+%2B": "%41+%2B", "a;b": "c;d", ascii: ascii,
                "\0\t\u{7f}": "\0\t\u{7f}",
                "日本語": "שלום", "😀": "👩‍👩‍👧‍👦", "\u{e9}": "e\u{301}", " ": "  ",
            ]
            let text = try await expect(fields, in: fields, by: carrier.uploader())
            #expect(text.hasPrefix("%2B+%26+%3D+%25+%7E+*=%2B+%26+%3D+%25+%7E+*&%2541%2B%252B="))
        }

        @Test("Line breaks become CR LF", arguments: Carrier.allCases)
        func lineBreaks(carrier: Carrier) async throws {
            let text = try await expect(
                ["a\r\n": "\r\n1\r\n2\r\n3\r\n", "b": "\r\n\r\n"],
                in: ["a\n": "\r1\n2\r\n3\r", "b": "\n\r"],
                by: carrier.uploader()
            )
            #expect(text == "a%0D%0A=%0D%0A1%0D%0A2%0D%0A3%0D%0A&b=%0D%0A%0D%0A")
        }

        @Test("Line breaks stay where that is wanted", arguments: Carrier.allCases)
        func sameLineBreaks(carrier: Carrier) async throws {
            let fields: KeyValuePairs = ["a\n": "\r1\n2\r\n3\r", "b": "\n\r"]
            let body = UploadBody.form(fields, normalizingLineBreaks: false)
            let reading: Reading = try await server.reading("/urlencoded", body, by: carrier.uploader())
            try expect(fields, reading)
            #expect(reading.text == "a%0A=%0D1%0A2%0D%0A3%0D&b=%0A%0D")
        }

        @Test("httpbin finds every field", arguments: Carrier.allCases)
        func httpbin(carrier: Carrier) async throws {
            let large = String(repeating: "ü ", count: 50_000)
            let request = try URLRequest.post(
                server.url("/post"),
                form: ["author": "Ann & Bob", "repeated": "1", "repeated": "2", "": "", "large": large]
            )
            let answer: HTTPBinAnswer = try await carrier.uploader().send(request).decode()
            #expect(
                answer.form == [
                    "author": .one("Ann & Bob"), "repeated": .many(["1", "2"]), "": .one(""), "large": .one(large),
                ]
            )
            #expect(answer.files.isEmpty && answer.data.isEmpty)
        }

        @Test("A form without fields is an empty body", arguments: Carrier.allCases)
        func empty(carrier: Carrier) async throws {
            let answer: HTTPBinAnswer = try await carrier.uploader().send(.post(server.url("/post"), form: [])).decode()
            #expect(answer.form.isEmpty)
            #expect(answer.headers["Content-Length"] == "0")
            #expect(answer.headers["Content-Type"] == "application/x-www-form-urlencoded")
        }
    }
}
