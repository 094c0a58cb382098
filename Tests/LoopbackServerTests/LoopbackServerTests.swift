import Foundation
import LoopbackServer
import Testing

/// All tests of the server; one after the other, since some count threads and descriptors.
@Suite(.serialized, .timeLimit(.minutes(5)))
enum LoopbackServerTests {}

extension LoopbackServerTests {
    @Suite struct Requests {
        let server: LoopbackServer
        let client: Client

        init() throws {
            server = try LoopbackServer()
            client = try Client(port: server.port)
            server.route(nil, "*", LoopbackServer.accept(keeping: true, digesting: true, body: "done"))
        }

        @Test func servesSeveralRequestsOnOneConnection() async throws {
            try client.write("PUT /a?x=1 HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nX: 1\r\nx: 2\r\n\r\nhello")
            var response = try client.readResponse()
            #expect(response.status == 200)
            #expect(response.body == "done")
            try client.write("GET /b HTTP/1.1\r\n\r\n")
            response = try client.readResponse()
            #expect(response.status == 200)
            let requests = try await server.wait { $0.requests.allSatisfy(\.ended) }.requests
            try #require(requests.count == 2)
            #expect(requests.map(\.index) == [0, 1])
            #expect(requests.map(\.connection) == [0, 0])
            #expect(requests[0].head.hasPrefix("PUT /a?x=1 HTTP/1.1\r\nHost: h\r\n"))
            #expect(requests[0].head.hasSuffix("x: 2\r\n\r\n"))
            #expect(requests[0].method == "PUT")
            #expect(requests[0].target == "/a?x=1")
            #expect(requests[0].path == "/a")
            #expect(requests[0].header("HOST") == "h")
            #expect(requests[0].headers("x") == ["1", "2"])
            #expect(requests[0].bodyByteCount == 5)
            #expect(requests[0].rawBodyByteCount == 5)
            #expect(requests[0].body == Data("hello".utf8))
            #expect(requests[0].digest == BodyDigest.of(Data("hello".utf8)))
            #expect(requests[0].isComplete)
            #expect(requests[0].status == 200)
            #expect(requests[1].bodyByteCount == 0)
            #expect(requests[1].isComplete)
            #expect(server.connectionCount == 1)
            #expect(server.openConnectionCount == 1)
        }

        @Test func servesPipelinedRequests() throws {
            let one = "PUT /a HTTP/1.1\r\nContent-Length: 3\r\n\r\none"
            try client.write(one + one + one)
            for _ in 0..<3 { #expect(try client.readResponse().status == 200) }
            #expect(server.requests.map(\.excess) == [0, 0, 0])
        }

        @Test(arguments: 1...9)
        func decodesChunksHoweverTheyAreCut(pieceSize: Int) async throws {
            // Reading so few bytes of the body takes no more from the socket, either.
            server.route("PUT", "/cut") { exchange in
                while try exchange.readBody(upTo: pieceSize, keeping: true, digesting: true) > 0 {}
                try exchange.respond(200)
            }
            let framed = "5;ext=1\r\nhello\r\n0a \r\n, chunks!!\r\n0\r\nTrailer: x\r\nOther: y\r\n\r\n"
            try client.write("PUT /cut HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
            try await server.wait { $0.requests.count == 1 }
            try client.write(framed)
            #expect(try client.readResponse().status == 200)
            let request = server.requests[0]
            #expect(request.isComplete)
            #expect(request.body == Data("hello, chunks!!".utf8))
            #expect(request.bodyByteCount == 15)
            #expect(request.rawBodyByteCount == Int64(framed.utf8.count))
            #expect(request.digest == BodyDigest.of(Data("hello, chunks!!".utf8)))
            try client.write("PUT /cut HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n")
            #expect(try client.readResponse().status == 200)
            #expect(server.requests[1].isComplete)
            #expect(server.requests[1].bodyByteCount == 0)
        }

        @Test func receivesLargeBodies() throws {
            let body = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })
            try client.write("PUT /a HTTP/1.1\r\nContent-Length: \(body.count)\r\n\r\n")
            try client.write(body)
            #expect(try client.readResponse().status == 200)
            try client.write("PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
            for start in stride(from: 0, to: body.count, by: 700_001) {
                let chunk = body[start..<min(start + 700_001, body.count)]
                try client.write("\(String(chunk.count, radix: 16))\r\n")
                try client.write(chunk)
                try client.write("\r\n")
            }
            try client.write("0\r\n\r\n")
            #expect(try client.readResponse().status == 200)
            for request in server.requests {
                #expect(request.body == body)
                #expect(request.digest == BodyDigest.of(body))
            }
        }

        @Test func recordsExcessBytes() async throws {
            try client.write("PUT /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc defg")
            #expect(try client.readResponse().status == 200)
            let response = try client.readResponse()
            #expect(response.status == 400)
            client.disconnect()
            let state = try await server.wait { $0.openConnectionCount == 0 }
            #expect(state.requests.map(\.excess) == [5])
            #expect(state.rejections == [" defg"])
        }

        @Test func recordsExcessBytesAtTheEnd() async throws {
            try client.write("PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\ndefg")
            client.finishWriting()
            #expect(try client.readToEnd().hasPrefix("HTTP/1.1 200"))
            let state = try await server.wait { $0.openConnectionCount == 0 }
            #expect(state.requests.map(\.excess) == [4])
        }

        @Test func closesWhenAsked() throws {
            try client.write("PUT /a HTTP/1.1\r\nConnection: close\r\n\r\n")
            let text = try client.readToEnd()
            #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(text.contains("Connection: close\r\n"))
            #expect(server.openConnectionCount == 0)
            let old = try Client(port: server.port)
            try old.write("PUT /a HTTP/1.0\r\nContent-Length: 1\r\n\r\na")
            #expect(try old.readToEnd().hasPrefix("HTTP/1.1 200"))
        }

        @Test func noticesThatThePeerGoesAway() async throws {
            try client.write("PUT /a HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc")
            try await server.wait { $0.requests.first?.bodyByteCount == 3 }
            client.disconnect()
            let state = try await server.wait { $0.openConnectionCount == 0 }
            #expect(state.requests[0].ended)
            #expect(!state.requests[0].isComplete)
            #expect(state.requests[0].status == nil)
            #expect(state.requests[0].body == Data("abc".utf8))
            #expect(state.requests[0].digest == nil)
        }

        @Test func choosesTheLatestMatchingRoute() throws {
            server.route("PUT", "/a", LoopbackServer.accept(status: 201))
            server.route(nil, "/b/*", LoopbackServer.accept(status: 202))
            for (line, status) in [("PUT /a?q", 201), ("POST /a", 200), ("GET /b/c", 202), ("GET /b", 200)] {
                try client.write("\(line) HTTP/1.1\r\n\r\n")
                #expect(try client.readResponse().status == status)
            }
            let bare = try LoopbackServer()
            let other = try Client(port: bare.port)
            try other.write("PUT http://h:1/a HTTP/1.1\r\nContent-Length: 1\r\n\r\na")
            #expect(try other.readResponse().status == 404)
            #expect(bare.requests[0].path == "/a")
            #expect(bare.requests[0].isComplete)
        }

        @Test func makesURLs() {
            #expect(server.url("/a/b?c=d%20e").absoluteString == "http://127.0.0.1:\(server.port)/a/b?c=d%20e")
            #expect(server.url(host: "localhost").absoluteString == "http://localhost:\(server.port)/")
        }
    }
}
