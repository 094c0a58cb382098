import Foundation
import LoopbackServer
import Testing

extension LoopbackServerTests {
    @Suite struct MalformedInput {
        let server: LoopbackServer
        let client: Client

        init() throws {
            server = try LoopbackServer()
            client = try Client(port: server.port)
            server.route(nil, "*", LoopbackServer.accept(keeping: true))
        }

        @Test(arguments: [
            "Content-Length: -1", "Content-Length: +1", "Content-Length: ", "Content-Length: 1, 1",
            "Content-Length: 1\r\nContent-Length: 1", "Content-Length: 9223372036854775808",
            "Content-Length: 99999999999999999999999999999999", "Content-Length: 0x10", "Content-Length: \u{661}",
            "Content-Length: 3\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: gzip", "X : y", ": y", "no colon", " folded: x", "X: \u{1}", "X: a\rb",
        ])
        func rejectsFields(_ field: String) async throws {
            try client.write("PUT /a HTTP/1.1\r\nHost: h\r\n\(field)\r\n\r\n")
            let text = try client.readToEnd()
            #expect(text.hasPrefix("HTTP/1.1 400 ") || text.hasPrefix("HTTP/1.1 501 "))
            client.disconnect()
            let state = try await server.wait { $0.openConnectionCount == 0 }
            #expect(state.requests.isEmpty)
            #expect(state.rejections.count == 1)
        }

        @Test(arguments: [
            "\r\nGET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\n\n", "GET /\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n", "\n", "\0",
            "GET / HTTP/2.0\r\n\r\n", "GET / HTTP/1.1 \r\n\r\n", "G(T / HTTP/1.1\r\n\r\n",
            "GET /\u{1}a HTTP/1.1\r\n\r\n",
            "PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{fc}\u{3}",
            "a\r\n\r\n", " \r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        ])
        func rejectsGarbage(_ garbage: String) async throws {
            try client.write(garbage)
            #expect(try client.readToEnd().hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
            client.disconnect()
            let state = try await server.wait { $0.openConnectionCount == 0 }
            #expect(state.requests.isEmpty)
            #expect(state.rejections.count == 1)
        }

        @Test(arguments: [
            "\r\n", "g\r\nx", "-1\r\nx", "+1\r\nx", "0x1\r\nx", "1 1\r\nx", "8000000000000000\r\nx",
            "ffffffffffffffffffff\r\nx", "1\nx", "1\r\nxy\r\n", "1\r\nx\n", "1\r\nx\rz", "0\r\nno colon\r\n\r\n",
            "0\r\n: x\r\n\r\n", "0\r\n\n",
        ])
        func rejectsChunks(_ chunks: String) async throws {
            try await rejects(chunks)
        }

        @Test func rejectsLongChunkExtensions() async throws {
            try await rejects("1;\(String(repeating: "x", count: 10_000))")
        }

        @Test func rejectsLongTrailers() async throws {
            try await rejects("0\r\n\(String(repeating: "a: b\r\n", count: 20_000))\r\n")
        }

        private func rejects(_ chunks: String) async throws {
            try client.write("PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)")
            #expect(try client.readToEnd().hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
            client.disconnect()
            let state = try await server.wait { $0.openConnectionCount == 0 }
            #expect(state.requests.count == 1)
            #expect(state.requests.first?.isComplete == false)
            #expect(state.requests.first?.status == 400)
        }

        @Test(arguments: [
            "Content-Length: 9223372036854775807\r\n\r\nabc",
            "Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\nabc",
        ])
        func survivesHugeSizes(_ rest: String) async throws {
            try client.write("PUT /a HTTP/1.1\r\n\(rest)")
            try await server.wait { $0.requests.first?.bodyByteCount == 3 }
            client.disconnect()
            try await server.wait { $0.openConnectionCount == 0 }
        }

        @Test func rejectsAHugeHead() async throws {
            // The server may close before it has taken all of it.
            try? client.write("GET / HTTP/1.1\r\nX: \(String(repeating: "x", count: 2 << 20))")
            #expect(try client.readToEnd().hasPrefix("HTTP/1.1 431 "))
            client.disconnect()
            let state = try await server.wait { $0.openConnectionCount == 0 }
            #expect(state.rejections.map(\.unicodeScalars.count) == [1024])
        }

        @Test func takesALargeHead() throws {
            let value = String(repeating: "x", count: 200_000)
            try client.write("GET / HTTP/1.1\r\nX: \(value)\r\n\r\n")
            #expect(try client.readResponse().status == 200)
            #expect(server.requests[0].header("x") == value)
        }

        @Test func survivesRandomBytes() async throws {
            var random = SplitMix64(seed: 1)
            let starts = ["", "GET ", "PUT /a HTTP/1.1\r\n", "PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1"]
            for round in 0..<100 {
                let client = try Client(port: server.port)
                var bytes = Data(starts[round % 4].utf8)
                for _ in 0..<Int.random(in: 1...200, using: &random) {
                    bytes.append(UInt8.random(in: 0...255, using: &random))
                }
                try? client.write(bytes)
                client.finishWriting()
                _ = try? client.readToEnd()
            }
            client.disconnect()
            try await server.wait { $0.openConnectionCount == 0 && $0.connectionCount == 101 }
        }

        @Test func servesAfterAllThat() throws {
            for length in ["-1", "99999999999999999999"] {
                let client = try Client(port: server.port)
                try client.write("PUT /a HTTP/1.1\r\nContent-Length: \(length)\r\n\r\n")
                #expect(try client.readResponse().status == 400)
            }
            try client.write("PUT /a HTTP/1.1\r\nContent-Length: 1\r\n\r\na")
            #expect(try client.readResponse().status == 200)
        }
    }
}

/// Random numbers that are the same in every run.
private struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
