import AsyncUpload
import Foundation
import Testing

extension Forms {
    /// Whatever the request says that its body is, the parsers find the boundary.
    @Suite struct ContentTypes {
        let server: FormServer

        init() throws {
            server = try #require(FormServer.current)
        }

        private static func form() -> (form: MultipartForm, parts: [FormPart]) {
            var form = MultipartForm()
            form.append("1", name: "a")
            form.append(.data(Data("2".utf8)), name: "b", filename: "c")
            let file = FormPart(
                name: "b",
                filename: "c",
                contentType: "application/octet-stream",
                content: Data("2".utf8)
            )
            return (form, [.field("a", "1"), file])
        }

        @Test(
            "The boundary is the body's own",
            arguments: [
                nil, "multipart/form-data", "multipart/form-data;", "multipart/form-data; boundary=foreign",
                "multipart/form-data; boundary=\"foreign; boundary=inner\"", "multipart/form-data;boundary=\"a\\\"b\"",
                "multipart/form-data; BOUNDARY=foreign", "multipart/form-data ;; boundary = foreign ;",
                "multipart/form-data; boundary=\"open", "multipart/form-data; boundary*=utf-8''a; boundary*0=b",
                "text/plain", "application/x-www-form-urlencoded", "nonsense",
            ],
            Carrier.allCases
        )
        func boundary(contentType: String?, carrier: Carrier) async throws {
            let (form, parts) = Self.form()
            let requests = try await server.expect(parts, in: form, by: carrier.uploader(), contentType: contentType)
            for received in requests {
                let type = try #require(received.contentType)
                #expect(type.wholeMatch(of: /multipart\/form-data; boundary=[A-Za-z0-9-]+/) != nil, "\(type)")
            }
        }

        @Test("Other parameters stay", arguments: Carrier.allCases)
        func parameters(carrier: Carrier) async throws {
            let (form, parts) = Self.form()
            let requests = try await server.expect(
                parts,
                in: form,
                by: carrier.uploader(),
                contentType: "multipart/form-data; charset=utf-8; boundary=foreign; note=\"a;b\""
            )
            for received in requests {
                let type = try #require(received.contentType)
                #expect(type.hasPrefix("multipart/form-data; boundary="))
                #expect(type.hasSuffix("; charset=utf-8; note=\"a;b\""))
                #expect(!type.contains("foreign"))
            }
        }

        @Test("Parameters whose names begin like the boundary stay", arguments: Carrier.allCases)
        func similarParameters(carrier: Carrier) async throws {
            let (form, parts) = Self.form()
            let type = "multipart/form-data; boundary-note=a"
            let requests = try await server.expect(parts, in: form, by: carrier.uploader(), contentType: type)
            for received in requests { #expect(received.contentType?.hasSuffix("; boundary-note=a") == true) }
        }

        @Test(
            "Another kind of multipart stays",
            arguments: ["multipart/related; type=\"a/b\"", "Multipart/Mixed"],
            Carrier.allCases
        )
        func kinds(contentType: String, carrier: Carrier) async throws {
            let (form, parts) = Self.form()
            let reading: EmailReading = try await server.reading(
                "/email",
                .multipart(form),
                by: carrier.uploader(),
                contentType: contentType
            )
            let parameters = contentType.components(separatedBy: "; ")
            let type = try #require(reading.received.contentType)
            #expect(type.hasPrefix("\(parameters[0]); boundary="))
            #expect(parameters.dropFirst().allSatisfy { type.hasSuffix("; \($0)") })
            #expect(reading.parts == parts)
            #expect(reading.received.framing == .init(delimiterCount: parts.count + 1))
            #expect(reading.defects.isEmpty)
        }
    }
}
