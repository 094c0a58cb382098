import Foundation
import Testing

@testable import AsyncUpload

extension Interop {
    /// What an exchange tells of its connection.
    @Suite struct Protocols {
        let server: NginxServer

        init() async throws {
            server = try await NginxServer()
        }

        @Test(
            "The protocol is the one that the server has chosen",
            arguments: [(NginxServer.Port.plain, "http/1.1"), (.http1, "http/1.1"), (.http2, "h2")]
        )
        func name(port: NginxServer.Port, name: String) async throws {
            var options = TransportOptions(idleConnectionLimit: 1)
            options.tls.certificateAuthorities = .data(server.certificates[.authority])
            options.proxy = .direct
            let transport = Uploader.TransportChoice.automatic.makeTransport(options)
            for isReused in [false, true] {
                let request = server.request(port, "/a")
                let transfer = try await transport.send(
                    OutgoingRequest(
                        request: request,
                        body: .source(DataBodySource(Data("a".utf8))),
                        responseBodyLimit: 1000,
                        limits: Uploader.Configuration().timeLimits(for: request, after: .zero)
                    )
                )
                var told: [ConnectionFacts] = []
                for try await events in transfer.events {
                    for case .connection(let facts) in events { told.append(facts) }
                }
                await transfer.ended.wait()
                #expect(
                    told == [
                        ConnectionFacts(
                            isReused: isReused,
                            networkProtocolName: name,
                            remoteAddress: "127.0.0.1",
                            remotePort: request.url?.port
                        )
                    ]
                )
            }
            await transport.shutDown()
        }
    }
}
