import AsyncUpload
import Foundation
import Testing

extension Interop {
    /// Requests to a port that speaks another protocol.
    @Suite struct Schemes {
        let server: NginxServer

        init() async throws {
            server = try await NginxServer()
        }

        @Test("https to a server without TLS is no secure connection", arguments: [false, true])
        func tlsToPlain(trustsAnyServer: Bool) async throws {
            let uploader = server.uploader { $0.tls.trustsAnyServer = trustsAnyServer }
            let error = try await server.refusal(by: uploader, of: server.request(.plain, "/a", scheme: "https"))
            #expect(error.code == .secureConnectionFailed)
        }

        @Test("http to a server with TLS is refused by it", arguments: [NginxServer.Port.http1, .http2])
        func plainToTLS(port: NginxServer.Port) async throws {
            let error = try await server.refusal(by: server.uploader(), of: server.request(port, "/a", scheme: "http"))
            #expect(error.code == .unacceptableStatus)
            #expect(error.response?.statusCode == 400)
            #expect(error.response?.text().contains("The plain HTTP request was sent to HTTPS port") == true)
        }
    }
}
