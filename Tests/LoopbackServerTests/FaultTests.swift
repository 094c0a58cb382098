import Foundation
import LoopbackServer
import Testing

extension LoopbackServerTests {
    /// What handlers can do besides a plain answer.
    @Suite struct Faults {
        let server: LoopbackServer
        let client: Client
        let put = "PUT /a HTTP/1.1\r\nContent-Length: 10\r\n\r\n"

        init() throws {
            server = try LoopbackServer()
            client = try Client(port: server.port)
        }

        @Test func continuesWhenExpected() async throws {
            server.route("PUT", "/a", LoopbackServer.accept())
            try client.write("PUT /a HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-Continue\r\n\r\n")
            #expect(try client.read(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
            try client.write("abc")
            #expect(try client.readResponse().status == 200)
        }

        @Test func canIgnoreTheExpectation() async throws {
            server.route("PUT", "/a") { exchange in
                exchange.ignoresExpect = true
                try exchange.readBody()
                try exchange.respond(200)
            }
            try client.write("PUT /a HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            try await server.wait { $0.requests.count == 1 }
            try client.write("abc")
            #expect(try client.readResponse().status == 200)
        }

        @Test func refusesInsteadOfContinuing() async throws {
            server.route("PUT", "/a") { try $0.respond(417, headers: [("Connection", "close")]) }
            try client.write("PUT /a HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            #expect(try client.readToEnd().hasPrefix("HTTP/1.1 417 Expectation Failed\r\n"))
            client.disconnect()
            let state = try await server.wait { $0.openConnectionCount == 0 }
            #expect(state.requests[0].bodyByteCount == 0)
        }

        @Test func readsAtTheGivenRate() async throws {
            // The order of events is what is checked: the quick exchange, begun later, is over long before.
            server.route("PUT", "/a", LoopbackServer.accept(bytesPerSecond: 5))
            server.route("PUT", "/b", LoopbackServer.accept())
            let start = ContinuousClock.now
            try client.write("\(put)0123456789")
            try await server.wait { $0.requests.count == 1 }
            let quick = try Client(port: server.port)
            try quick.write("PUT /b HTTP/1.1\r\nContent-Length: 10\r\n\r\n0123456789")
            #expect(try quick.readResponse().status == 200)
            #expect(server.requests[0].bodyByteCount < 10)
            #expect(try client.readResponse().status == 200)
            #expect(ContinuousClock.now - start >= .seconds(2))
            #expect(server.requests[0].bodyByteCount == 10)
        }

        @Test func readsTheRestAtOnceWhenThePeerHasLeft() async throws {
            // At this rate it would take hours.
            server.route("PUT", "/a", LoopbackServer.accept(bytesPerSecond: 1))
            try client.write(
                "PUT /a HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n\(String(repeating: "x", count: 10_000))"
            )
            try await server.wait { $0.requests.first?.bodyByteCount ?? 0 > 0 }
            client.finishWriting()
            let state = try await server.wait { $0.openConnectionCount == 0 }
            #expect(state.requests[0].bodyByteCount == 10_000)
        }

        @Test(arguments: [false, true])
        func failsAfterSomeBytes(reset: Bool) async throws {
            server.route("PUT", "/a", LoopbackServer.failing(after: 4, reset: reset))
            try client.write("\(put)01")
            try await server.wait { $0.requests.first?.bodyByteCount == 2 }
            try client.write("23")
            if reset {
                #expect(throws: Client.Failure.self) { try client.readToEnd() }
            } else {
                #expect(try client.readToEnd() == "")
            }
            let request = server.requests[0]
            #expect(request.bodyByteCount == 4)
            #expect(!request.isComplete)
            #expect(request.ended)
            #expect(request.status == nil)
            #expect(server.openConnectionCount == 0)
        }

        @Test func closesInTheMiddleOfAHead() throws {
            server.route("PUT", "/a") { exchange in
                try exchange.readBody()
                try exchange.send("HTTP/1.1 200 OK\r\nConte")
                exchange.close()
            }
            try client.write("\(put)0123456789")
            #expect(try client.readToEnd() == "HTTP/1.1 200 OK\r\nConte")
            #expect(server.requests[0].status == 200)
        }

        @Test func answersEarlyAndGoesOn() async throws {
            server.route("PUT", "/a", LoopbackServer.redirect(status: 307, to: "/b", readingBody: false))
            server.route("GET", "/b", LoopbackServer.accept())
            try client.write("\(put)012")
            let response = try client.readResponse()
            #expect(response.status == 307)
            #expect(response.head.contains("\r\nLocation: /b\r\n"))
            try await server.wait { $0.requests.first?.bodyByteCount == 3 }
            #expect(!server.requests[0].ended)
            try client.write("3456789GET /b HTTP/1.1\r\n\r\n")
            #expect(try client.readResponse().status == 200)
            #expect(server.requests[0].isComplete)
        }

        @Test func answersEarlyAndCloses() async throws {
            server.route("PUT", "/a") { try $0.respond(413, headers: [("Connection", "close")], body: "no") }
            try client.write("\(put)012")
            #expect(try client.readToEnd().hasSuffix("\r\n\r\nno"))
            client.disconnect()
            let state = try await server.wait { $0.openConnectionCount == 0 }
            #expect(state.requests[0].status == 413)
            #expect(!state.requests[0].isComplete)
        }

        @Test func sendsInterimResponses() throws {
            server.route("PUT", "/a") { exchange in
                try exchange.interim(103, headers: [("Link", "</x>")])
                try exchange.interim(199, reason: "Odd")
                try exchange.readBody()
                try exchange.respond(201, reason: "Made", body: "x")
            }
            try client.write("\(put)0123456789")
            #expect(try client.read(until: "\r\n\r\n") == "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
            #expect(try client.read(until: "\r\n\r\n") == "HTTP/1.1 199 Odd\r\n\r\n")
            #expect(try client.read(count: 41) == "HTTP/1.1 201 Made\r\nContent-Length: 1\r\n\r\nx")
        }

        @Test func neverAnswers() async throws {
            server.route("PUT", "/a", LoopbackServer.neverAnswer)
            try client.write("\(put)0123456789")
            try await server.wait { $0.requests.first?.isComplete == true }
            #expect(server.openConnectionCount == 1)
            client.disconnect()
            let state = try await server.wait { $0.openConnectionCount == 0 }
            #expect(state.requests[0].status == nil)
            #expect(state.requests[0].ended)
        }

        @Test func holdsWithoutReading() async throws {
            server.route("PUT", "/a") { exchange in
                exchange.hold()
                exchange.close()
            }
            try client.write(put)
            try await server.wait { $0.requests.count == 1 }
            try client.write("0123")
            client.finishWriting()
            let state = try await server.wait { $0.openConnectionCount == 0 }
            #expect(state.requests[0].bodyByteCount == 0)
        }

        @Test func waitsForATimeOrThePeer() async throws {
            server.route("PUT", "/a") { exchange in
                try exchange.wait(.milliseconds(20))
                try exchange.interim(102)
                try exchange.wait(.seconds(3600))
            }
            try client.write(put)
            let start = ContinuousClock.now
            #expect(try client.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 102"))
            #expect(ContinuousClock.now - start >= .milliseconds(10))
            client.disconnect()
            try await server.wait { $0.openConnectionCount == 0 && $0.requests[0].ended }
        }

        @Test func answersForSilentAndFailingHandlers() throws {
            struct Oops: Error {}
            server.route("PUT", "/a") { _ in }
            server.route("GET", "/a") { _ in throw Oops() }
            try client.write("\(put)0123456789")
            #expect(try client.readResponse().status == 500)
            #expect(server.requests[0].isComplete)
            try client.write("GET /a HTTP/1.1\r\n\r\n")
            #expect(try client.readToEnd() == "")
        }

        @Test func asksForAuthentication() throws {
            server.route(nil, "*", LoopbackServer.unauthorized(user: "u", password: "p"))
            try client.write("\(put)0123456789")
            let response = try client.readResponse()
            #expect(response.status == 401)
            #expect(response.head.contains("\r\nWWW-Authenticate: Basic realm=\"r\"\r\n"))
            try client.write("GET /a HTTP/1.1\r\nAuthorization: Basic dTpw\r\n\r\n")
            #expect(try client.readResponse().status == 200)
        }

        @Test func echoes() throws {
            server.route(nil, "*", LoopbackServer.echo)
            try client.write("\(put)0123456789HEAD / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc")
            #expect(try client.readResponse().body == "0123456789")
            let response = try client.readResponse(hasBody: false)
            #expect(response.head.contains("\r\nContent-Length: 3\r\n"))
            try client.write("\(put)9876543210")
            #expect(try client.readResponse().body == "9876543210")
        }

        @Test func givesPiecesToTheHandler() throws {
            server.route("PUT", "/a") { exchange in
                var seen: [[UInt8]] = []
                let first = try exchange.readBody(upTo: 4, digesting: true) { seen.append(Array($0)) }
                #expect(exchange.request.bodyByteCount == 4)
                try exchange.readBody(digesting: true) { seen.append(Array($0)) }
                #expect(try exchange.readBody(upTo: 4) == 0)
                try exchange.respond(200, body: "\(first) \(String(decoding: seen.joined(), as: UTF8.self))")
            }
            try client.write("\(put)0123456789")
            #expect(try client.readResponse().body == "4 0123456789")
            #expect(server.requests[0].digest == BodyDigest.of(Data("0123456789".utf8)))
        }
    }
}
