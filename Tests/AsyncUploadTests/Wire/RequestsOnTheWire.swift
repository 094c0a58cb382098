@testable import AsyncUpload
import Foundation
import LoopbackServer
import Testing

extension OverTheWire {
    /// What the server gets to see: promises 6 and 8, cases C44, C57, C87 to C90.
    @Suite struct Framing {
        @Test(
            "C44, C57, C89: one Content-Length or chunks, never both, and no Expect",
            arguments: ["PUT", "POST", "PATCH"],
            BodyKind.allCases
        )
        func framing(method: String, kind: BodyKind) async throws {
            for count in [0, 1, 100_000] {
                let lane = try Lane()
                lane.server.route(nil, "/*", LoopbackServer.accept(keeping: true))
                let seen = try await lane.upload(bytes(count), as: kind, to: "/x", method: method)
                #expect(seen.response != nil)
                let request = try #require(lane.server.requests.first)
                #expect(request.method == method)
                #expect(request.headers("Content-Length") == (kind.isSentWithLength ? ["\(count)"] : []))
                #expect(request.headers("Transfer-Encoding") == (kind.isSentWithLength ? [] : ["chunked"]))
                #expect(request.header("Expect") == nil)
                #expect(request.body == bytes(count))
                #expect(lane.server.snapshot.rejections.isEmpty)
            }
        }

        @Test(
            "C87, C88: no Content-Type unless asked for",
            arguments: ["PUT", "POST"],
            BodyKind.allCases
        )
        func noContentType(method: String, kind: BodyKind) async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*") { exchange in
                try exchange.readBody()
                try exchange.respond(exchange.request.header("Content-Type") == nil ? 200 : 403)
            }
            for count in [0, 10] {
                let seen = try await lane.upload(bytes(count), as: kind, to: "/presigned", method: method)
                #expect(seen.response != nil)
            }
        }

        @Test(
            "A small body goes out together with its head, on a new connection and on a used one",
            .enabled(if: Carrier.underTest == .automatic && Platform.usesFoundationNetworking),
            arguments: [BodyKind.data, .file]
        )
        func onePacket(kind: BodyKind) async throws {
            let lane = try Lane()
            let counts = Locked<[Int]>([])
            lane.server.route("PUT", "/x") { exchange in
                counts.withLock { $0.append(exchange.bufferedByteCount) }
                try LoopbackServer.accept()(exchange)
            }
            for _ in 0..<5 { _ = try await lane.upload(bytes(1000), as: kind, to: "/x") }
            #expect(counts.withLock { $0 } == Array(repeating: 1000, count: 5))
        }

        @Test("JSON bodies have their type; an explicit one wins")
        func contentTypes() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.echo)
            var request = lane.request("/x", method: "POST")
            let answer = try await lane.uploader.response(for: request, from: .json(["a": 1]))
            #expect(answer.headers["Content-Type"] == "application/json")
            #expect(try answer.decode([String: Int].self) == ["a": 1])
            request.setValue("application/vnd.api+json", forHTTPHeaderField: "Content-Type")
            let other = try await lane.uploader.response(for: request, from: .json(["a": 1]))
            #expect(other.headers["content-type"] == "application/vnd.api+json")
        }

        @Test("The request's own header fields go out as they are")
        func headerFields() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.sink)
            var request = lane.request("/a%20b?c=d%2Be&f=%C3%BC", method: "PUT")
            request.setValue("eins, zwei; q=\"ü\"", forHTTPHeaderField: "X-List")
            request.setValue("ours/1", forHTTPHeaderField: "User-Agent")
            request.setValue("image/png", forHTTPHeaderField: "Content-Type")
            _ = try await lane.uploader.response(for: request, from: bytes(5))
            let received = try #require(lane.server.requests.first)
            #expect(received.target == "/a%20b?c=d%2Be&f=%C3%BC")
            #expect(received.headers("User-Agent") == ["ours/1"])
            #expect(received.headers("Content-Type") == ["image/png"])
            let list = try #require(received.header("X-List"))
            #expect(
                String(decoding: list.unicodeScalars.map { UInt8($0.value) }, as: UTF8.self) == "eins, zwei; q=\"ü\""
            )
        }

        @Test(
            "C90: Expect only if asked for; a 417 is answered by one request without it",
            arguments: BodyKind.allCases
        )
        func expectation(kind: BodyKind) async throws {
            let lane = try Lane()
            lane.server.route("PUT", "/*") { exchange in
                if exchange.request.header("Expect") != nil {
                    try exchange.respond(417, headers: [("Connection", "close")])
                } else {
                    try exchange.readBody(keeping: true)
                    try exchange.respond(200)
                }
            }
            var request = lane.request("/x")
            request.setValue("100-continue", forHTTPHeaderField: "Expect")
            let data = bytes(100_000)
            let body = try kind.body(data, in: lane.scratch)
            let response = try await lane.uploader.response(for: request, from: body)
            #expect(response.metrics.attempts == 2)
            #expect(lane.server.requests.map { $0.header("Expect") } == ["100-continue", nil])
            #expect(lane.server.requests.last?.body == data)
        }

        @Test("Requests that cannot be sent as meant fail before anything is sent")
        func invalidRequests() async throws {
            let lane = try Lane()
            var lying = lane.request("/x")
            lying.setValue("5", forHTTPHeaderField: "Content-Length")
            var chunked = lane.request("/x")
            chunked.setValue("chunked", forHTTPHeaderField: "Transfer-Encoding")
            var ftp = lane.request("/x")
            ftp.url = URL(string: "ftp://127.0.0.1/x")
            let get = lane.request("/x", method: "GET")
            for request in [lying, chunked, ftp, get] {
                let seen = await Observation(lane.uploader.upload(for: request, from: bytes(10)))
                #expect(seen.code == .invalidRequest)
            }
            #expect(lane.server.connectionCount == 0)
        }

        @Test("A line break in a value cannot become another field")
        func injection() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.sink)
            var request = lane.request("/x")
            // FoundationNetworking drops such a value by itself; where it is kept, the request is refused.
            request.setValue("a\r\nX-Evil: 1", forHTTPHeaderField: "X-Name")
            let seen = await Observation(lane.uploader.upload(for: request, from: bytes(10)))
            #expect(seen.response != nil || seen.code == .invalidRequest)
            #expect(lane.server.requests.allSatisfy { $0.header("X-Evil") == nil })
        }

        @Test(
            "A POST whose connection is lost is not sent again behind the caller's back; a PUT may be",
            arguments: [Carrier.automatic, .streamed],
            ["POST", "PATCH", "PUT"]
        )
        func notRepeated(carrier: Carrier, method: String) async throws {
            for count in [0, 1000, 1_000_000] where count > 0 || carrier == .automatic {
                let lane = try Lane(carrier) { $0.maximumUploadsInFlight = 1 }
                lane.server.route(nil, "/first", LoopbackServer.sink)
                lane.server.route(nil, "/second") { exchange in
                    try exchange.readBody()
                    guard exchange.request.connection > 0 || method == "POST" && count == 0 else {
                        return exchange.close()
                    }
                    try exchange.respond(200)
                }
                _ = try await lane.uploader.response(for: lane.request("/first"), from: bytes(10))
                let events = lane.uploader.upload(for: lane.request("/second", method: method), from: bytes(count))
                let seen = await Observation(events)
                // With URLSession a second head may go out before it can be stopped, but no body.
                let sent = lane.server.requests.filter { $0.path == "/second" && $0.isComplete }
                if method == "PUT" {
                    #expect(seen.response != nil)
                } else if count > 0 {
                    #expect(seen.code?.isConnectionLoss == true)
                    #expect(sent.count == 1)
                } else {
                    #expect(sent.count == 1)
                }
            }
        }

        @Test("Cookies are the caller's own, and nobody else's")
        func cookies() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/set") { exchange in
                try exchange.readBody()
                try exchange.respond(307, headers: [("Location", "/ok"), ("Set-Cookie", "sid=server; Path=/")])
            }
            lane.server.route(nil, "/ok", LoopbackServer.sink)
            var request = lane.request("/set")
            request.setValue("mine=1", forHTTPHeaderField: "Cookie")
            _ = try await lane.uploader.response(for: request, from: bytes(10))
            _ = try await lane.uploader.response(for: lane.request("/ok"), from: bytes(10))
            #expect(lane.server.requests.map { $0.header("Cookie") } == ["mine=1", "mine=1", nil])
        }

        @Test("A user and a password in the URL are sent, and only to its own origin")
        func userInformation() async throws {
            let lane = try Lane()
            let other = try LoopbackServer()
            other.route(nil, "/*", LoopbackServer.sink)
            let away = other.url("/x").absoluteString.replacingOccurrences(of: "//", with: "//a:b@")
            lane.server.route(nil, "/x", LoopbackServer.redirect(status: 307, to: away))
            let url = lane.server.url("/x").absoluteString.replacingOccurrences(of: "//", with: "//user:p%40ss@")
            let request = URLRequest(url: try #require(URL(string: url)), method: "PUT")
            let response = try await lane.uploader.response(for: request, from: bytes(10))
            #expect(lane.server.requests.first?.header("Authorization") == "Basic dXNlcjpwQHNz")
            #expect(other.requests.first?.header("Authorization") == nil)
            #expect(response.url == other.url("/x"))
        }

        @Test("Connections are used again")
        func keepAlive() async throws {
            let lane = try Lane { $0.maximumUploadsInFlight = 1 }
            lane.server.route("PUT", "/*", LoopbackServer.sink)
            for count in [10, 0, 100_000, 1] {
                _ = try await lane.uploader.response(for: lane.request("/x"), from: bytes(count))
            }
            #expect(lane.server.requests.map(\.bodyByteCount) == [10, 0, 100_000, 1])
            #expect(lane.server.connectionCount == 1)
        }
    }
}
