import Foundation
import LoopbackServer
import Testing

@testable import AsyncUpload

extension OverTheWire {
    @Suite("What is known of connections") struct Connections {
        let server: LoopbackServer

        init() throws {
            server = try LoopbackServer()
        }

        private func request(_ path: String, method: String = "PUT") -> URLRequest {
            URLRequest(url: server.url(path), method: method)
        }

        @Test("The first exchange makes one, the second one uses it again, and each tells where it goes")
        func facts() async throws {
            server.route(nil, "/*", LoopbackServer.sink)
            let transport = Carrier.automatic.makeTransport(TransportOptions(idleConnectionLimit: 2))
            for isReused in [false, true] {
                let told = try await transport.connections(of: request("/x"))
                #expect(
                    told.facts == [
                        ConnectionFacts(
                            isReused: isReused,
                            networkProtocolName: "http/1.1",
                            remoteAddress: "127.0.0.1",
                            remotePort: server.port
                        )
                    ]
                )
                #expect(told.error == nil)
            }
            #expect(server.connectionCount == 1)
            await transport.shutDown()
        }

        @Test("What fails tells of its connection, too")
        func factsOfFailures() async throws {
            server.route(nil, "/*") { exchange in
                try exchange.readBody()
                exchange.close()
            }
            let transport = Carrier.automatic.makeTransport(TransportOptions(idleConnectionLimit: 2))
            let told = try await transport.connections(of: request("/x", method: "POST"))
            #expect(told.facts.map(\.remotePort) == [server.port])
            #expect(told.error?.code == .connectionLostAfterBody)
            await transport.shutDown()
        }

        @Test("Where there is no connection, nothing is told of one")
        func noFacts() async throws {
            let transport = Carrier.automatic.makeTransport(TransportOptions(idleConnectionLimit: 2))
            let request = request("/x")
            server.stop()
            let told = try await transport.connections(of: request)
            #expect(told.facts.isEmpty)
            #expect(told.error?.code == .cannotConnect)
            await transport.shutDown()
        }

        @Test("URLSession on Linux tells nothing", .enabled(if: Platform.usesFoundationNetworking))
        func nothingFromURLSession() async throws {
            server.route(nil, "/*", LoopbackServer.sink)
            let transport = Carrier.streamed.makeTransport(TransportOptions(idleConnectionLimit: 2))
            let told = try await transport.connections(of: request("/x"))
            #expect(told.facts.isEmpty)
            #expect(told.error == nil)
            await transport.shutDown()
        }
    }
}

extension Transport {
    /// Sends a small body and gives what is told of connections, which comes before the end and after which comes an error
    /// or none.
    fileprivate func connections(
        of request: URLRequest
    ) async throws -> (facts: [ConnectionFacts], error: UploadError?) {
        let configuration = Uploader.Configuration()
        let transfer = try await send(
            OutgoingRequest(
                request: request,
                body: .source(DataBodySource(bytes(1000))),
                responseBodyLimit: configuration.responseBodyLimit,
                limits: configuration.timeLimits(for: request, after: .zero)
            )
        )
        var facts: [ConnectionFacts] = []
        var failure: UploadError?
        do {
            for try await events in transfer.events {
                for case .connection(let connection) in events { facts.append(connection) }
            }
        } catch let error as UploadError {
            failure = error
        }
        await transfer.ended.wait()
        return (facts, failure)
    }
}
