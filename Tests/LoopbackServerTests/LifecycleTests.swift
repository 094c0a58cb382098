import Foundation
import Testing

@testable import LoopbackServer

extension LoopbackServerTests {
    @Suite struct Lifecycle {
        /// A server with connections that are idle, held, waiting, writing, in a body and in a paced one.
        private func busyServer() async throws -> (server: LoopbackServer, clients: [Client]) {
            let server = try LoopbackServer()
            server.route(nil, "/hold") { $0.hold() }
            server.route(nil, "/wait") { try $0.wait(.seconds(3600)) }
            server.route(nil, "/body", LoopbackServer.accept())
            server.route(nil, "/slow", LoopbackServer.accept(bytesPerSecond: 1))
            server.route(nil, "/write") { while true { try $0.send(Data(count: 1 << 20)) } }
            var clients: [Client] = []
            for index in 0..<24 {
                let client = try Client(port: server.port)
                clients.append(client)
                let path = ["", "/hold", "/wait", "/body", "/slow", "/write"][index % 6]
                guard !path.isEmpty else { continue }
                try client.write("PUT \(path) HTTP/1.1\r\nContent-Length: 100\r\n\r\nabcdef")
            }
            try await server.wait { state in
                state.openConnectionCount == 24 && state.requests.count == 20
                    && state.requests.allSatisfy { !["/body", "/slow"].contains($0.path) || $0.bodyByteCount > 0 }
            }
            return (server, clients)
        }

        @Test func stopsWhileBusy() async throws {
            let (server, clients) = try await busyServer()
            let start = ContinuousClock.now
            server.stop()
            #expect(ContinuousClock.now - start < .seconds(5))
            #expect(server.openConnectionCount == 0)
            #expect(server.requests.allSatisfy { $0.ended })
            #expect(openSockets(ofPort: server.port) == clients.count, "the clients' own")
            server.stop()
            #expect(throws: Client.Failure.self) { _ = try Client(port: server.port) }
            #expect(threadsEnd(ofPort: server.port))
            withExtendedLifetime(clients) {}
        }

        /// Or what still asks a server that is gone would reach another one.
        @Test func keepsItsPortWhenStopped() async throws {
            let server = try LoopbackServer()
            let client = try Client(port: server.port)
            server.stop()
            #expect(throws: Client.Failure.self) { _ = try Client(port: server.port) }
            #expect(throws: LoopbackError.self) {
                try Socket.listening(port: server.port, receiveBufferSize: nil).socket.dispose()
            }
            withExtendedLifetime(client) {}
        }

        @Test func stopsWhenReleased() async throws {
            var (server, clients): (LoopbackServer?, [Client]) = try await busyServer()
            let port = try #require(server).port
            server = nil
            #expect(openSockets(ofPort: port) == clients.count)
            for (index, client) in clients.enumerated() where index % 6 == 0 {
                #expect(try client.readToEnd() == "")
            }
            clients = []
            #expect(openSockets(ofPort: port) == 0)
            #expect(threadsEnd(ofPort: port))
        }

        @Test func canBeStoppedByAHandler() async throws {
            let server = try LoopbackServer()
            server.route(nil, "*") { _ in server.stop() }
            let client = try Client(port: server.port)
            try client.write("GET / HTTP/1.1\r\n\r\n")
            #expect(try client.readToEnd() == "")
            server.stop()
            #expect(openSockets(ofPort: server.port) == 1)
        }

        @Test func leavesNoDescriptors() async throws {
            let before = openDescriptors()
            for _ in 0..<200 {
                let server = try LoopbackServer()
                let client = try Client(port: server.port)
                try client.write("GET / HTTP/1.1\r\n\r\n")
                #expect(try client.readResponse().status == 404)
                server.stop()
            }
            // Other tests of the process may run meanwhile; a leak would be 200 of anything.
            #expect(openDescriptors() - before < 100)
        }

        @Test func wakesWaiters() async throws {
            let server = try LoopbackServer()
            async let state = server.wait { $0.requests.first?.ended == true && $0.openConnectionCount == 0 }
            async let opened = server.wait { $0.openConnectionCount == 1 }
            let client = try Client(port: server.port)
            _ = try await opened
            try client.write("GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
            #expect(try client.readToEnd().hasPrefix("HTTP/1.1 404"))
            #expect(try await state.requests.count == 1)
            // Conditions may ask the server.
            try await server.wait { $0.connectionCount == server.connectionCount }
        }

        @Test func timesOut() async throws {
            let server = try LoopbackServer()
            await #expect(throws: LoopbackError.self) {
                try await server.wait(timeout: .milliseconds(20)) { $0.connectionCount > 0 }
            }
            let waiter = Task { try await server.wait(timeout: .seconds(50)) { _ in false } }
            waiter.cancel()
            await #expect(throws: CancellationError.self) { try await waiter.value }
            let other = Task { try await server.wait(timeout: .seconds(50)) { _ in false } }
            server.stop()
            await #expect(throws: LoopbackError.self) { try await other.value }
            try await server.wait { $0.connectionCount == 0 }
        }

        @Test func servesManyConnectionsAtOnce() async throws {
            let server = try LoopbackServer(receiveBufferSize: 16 << 10)
            server.route(nil, "*", LoopbackServer.sink)
            let clients = try (0..<200).map { _ in try Client(port: server.port) }
            for client in clients { try client.write("PUT / HTTP/1.1\r\nContent-Length: 4\r\n\r\nab") }
            try await server.wait { $0.requests.count == 200 && $0.openConnectionCount == 200 }
            for client in clients { try client.write("cd") }
            for client in clients { #expect(try client.readResponse().status == 200) }
            #expect(Set(server.requests.map(\.connection)) == Set(0..<200))
        }
    }
}
