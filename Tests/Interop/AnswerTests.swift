import AsyncUpload
import Foundation
import Testing

extension Interop {
    /// Answers that come before the server has read the body.
    @Suite struct Answers {
        let server: NginxServer

        init() async throws {
            server = try await NginxServer()
        }

        @Test("A redirect keeps the body", arguments: Body.allCases, ["/here", "/there"])
        func redirect(body: Body, place: String) async throws {
            let bytes = try randomBytes(1_000_000)
            let response = try await server.uploader().response(
                for: server.request(.http2, place + "/a/b"),
                from: body.of(bytes, in: server.folder)
            )
            #expect(response.statusCode == 201)
            #expect(response.metrics.attempts == 2)
            #expect(response.url?.path == "/a/b")
            #expect(try server.stored("/a/b") == bytes)
            #expect(server.storedPaths == ["a", "a/b"])
            let accesses = try await server.accesses(2)
            #expect(accesses.map(\.status) == ["307", "201"])
            #expect(accesses.map(\.version) == ["HTTP/2.0", place == "/here" ? "HTTP/2.0" : "HTTP/1.1"])
        }

        @Test("A redirect to a server without TLS is not followed")
        func unsafeRedirect() async throws {
            let error = try await server.refusal(by: server.uploader(), of: server.request(.http2, "/unsafe/a"))
            #expect(error.code == .redirectRefused)
            #expect(error.response?.statusCode == 307)
        }

        @Test("A credential answers 401", arguments: Body.allCases, [NginxServer.Port.http2, .http1])
        func credential(body: Body, port: NginxServer.Port) async throws {
            let uploader = server.uploader {
                $0.credential = URLCredential(user: "user", password: "secret", persistence: .none)
            }
            let bytes = try randomBytes(1_000_000)
            let response = try await uploader.response(
                for: server.request(port, "/private/a"),
                from: body.of(bytes, in: server.folder)
            )
            #expect(response.statusCode == 201)
            #expect(try server.stored("/private/a") == bytes)
            #expect(try await server.accesses(2).map(\.status) == ["401", "201"])
        }

        @Test("401 without a credential is an error")
        func noCredential() async throws {
            let error = try await server.refusal(by: server.uploader(), of: server.request(.http2, "/private/a"))
            #expect(error.code == .unacceptableStatus)
            #expect(error.response?.statusCode == 401)
            #expect(error.response?.headers["WWW-Authenticate"] == "Basic realm=\"uploads\"")
        }

        @Test("413 comes at once and with its text", arguments: Body.allCases, NginxServer.Port.ordinary)
        func tooLarge(body: Body, port: NginxServer.Port) async throws {
            let uploader = server.uploader()
            let size = 64 << 20
            let large = try body.of(Data(count: size), in: server.folder)
            let request = server.request(port, "/small/a")
            let start = ContinuousClock.now
            let error = await #expect(throws: UploadError.self) {
                try await uploader.response(for: request, from: large)
            }
            #expect(ContinuousClock.now - start < .seconds(5))
            #expect(error?.code == .unacceptableStatus)
            #expect(error?.response?.statusCode == 413)
            #expect(error?.response?.text().contains("413 Request Entity Too Large") == true)
            #expect(error?.attempts == 1)
            #expect(server.storedPaths.isEmpty)
            let accesses = try await server.accesses(1)
            #expect(accesses.map(\.status) == ["413"])
            #expect(accesses.compactMap { Int($0.received) }.allSatisfy { $0 < size })
        }
    }
}
