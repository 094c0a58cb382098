import Foundation
import LoopbackServer
import Testing

@testable import AsyncUpload

extension OverTheWire {
    /// Requests that need not be uploads, and what it takes to begin afresh.
    @Suite struct Sending {
        private let isOverLibcurl = Carrier.underTest == .automatic && Platform.usesFoundationNetworking

        @Test(
            "Every method arrives as it is, with a body or without",
            arguments: ["GET", "DELETE", "OPTIONS", "POST", "PUT"]
        )
        func methods(method: String) async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.echo)
            var request = lane.request("/x?a=b", method: method)
            request.setValue("1", forHTTPHeaderField: "X-Test")
            let response = try await lane.uploader.send(request)
            #expect(response.statusCode == 200)
            #expect(response.body == nil)
            let received = try #require(lane.server.requests.last)
            #expect(received.method == method)
            #expect(received.target == "/x?a=b")
            #expect(received.header("X-Test") == "1")
            // URLSession on Linux says it of other methods, too.
            if ["POST", "PUT"].contains(method) || isOverLibcurl {
                #expect(received.headers("Content-Length") == (["POST", "PUT"].contains(method) ? ["0"] : []))
            }
            #expect(received.header("Transfer-Encoding") == nil)
            #expect(received.header("Content-Type") == nil)
            guard method != "GET" else { return }
            request.httpBody = Data("hello".utf8)
            #expect(try await lane.uploader.send(request).text() == "hello")
            #expect(lane.server.requests.last?.headers("Content-Length") == ["5"])
        }

        @Test("The response to HEAD has a head")
        func head() async throws {
            let lane = try Lane()
            lane.server.route("HEAD", "/*", LoopbackServer.accept(body: "0123456789"))
            let response = try await lane.uploader.send(lane.request("/x", method: "HEAD"))
            #expect(response.headers["content-length"] == "10")
            #expect(response.body == nil)
        }

        @Test("A method that has no body gets none that is empty either", arguments: ["GET", "HEAD"])
        func emptyBody(method: String) async throws {
            let lane = try Lane { $0.timeoutIntervalForRequest = 10 }
            lane.server.route(nil, "/*", LoopbackServer.accept(body: "0123456789"))
            var request = lane.request("/x", method: method)
            request.httpBody = Data()
            #expect(try await lane.uploader.send(request).statusCode == 200)
            #expect(try await lane.uploader.response(for: request, from: Data()).statusCode == 200)
            #expect(lane.server.requests.allSatisfy { $0.header("Transfer-Encoding") == nil && $0.isComplete })
        }

        @Test("Redirects, challenges and refusals are those of uploads")
        func answers() async throws {
            let lane = try Lane {
                $0.credential = URLCredential(user: "u", password: "p", persistence: .none)
            }
            lane.server.route(nil, "/from", LoopbackServer.redirect(status: 307, to: "/to"))
            lane.server.route(nil, "/to", LoopbackServer.unauthorized(user: "u", password: "p"))
            lane.server.route(nil, "/gone") { try $0.respond(410, body: "no more") }
            var request = lane.request("/from", method: "POST")
            request.httpBody = Data("body".utf8)
            let response = try await lane.uploader.send(request)
            #expect(response.metrics.attempts == 3)
            #expect(response.url?.path == "/to")
            #expect(lane.server.requests.last?.bodyByteCount == 4)
            let error = await #expect(throws: UploadError.self) {
                _ = try await lane.uploader.send(.get(lane.server.url("/gone")))
            }
            #expect(error?.code == .unacceptableStatus)
            #expect(error?.response?.text() == "no more")
        }

        @Test("What cannot be sent is refused before anything is")
        func invalid() async throws {
            let lane = try Lane()
            var stream = lane.request("/x", method: "POST")
            stream.httpBodyStream = InputStream(data: Data("x".utf8))
            var get = lane.request("/x", method: "GET")
            get.httpBody = Data("x".utf8)
            var field = lane.request("/x", method: "GET")
            field.allHTTPHeaderFields = ["X": "a\r\nY: b"]
            for request in [stream, get, field] {
                let error = await #expect(throws: UploadError.self) { _ = try await lane.uploader.send(request) }
                #expect(error?.code == .invalidRequest)
            }
            #expect(lane.server.requests.isEmpty)
        }

        @Test("Repeated fields stay apart, names are of any case, and the type is without its parameters")
        func fields() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*") { exchange in
                let fields = [
                    ("Set-Cookie", "a=1"), ("SET-COOKIE", "b=2"), ("Content-Type", "Text/HTML; charset=ISO-8859-1"),
                ]
                try exchange.respond(200, headers: fields, body: Data("&eacute;".utf8) + [0xE9])
            }
            let response = try await lane.uploader.send(.get(lane.server.url("/x")))
            if isOverLibcurl {
                #expect(response.headers.values(for: "set-cookie") == ["a=1", "b=2"])
            }
            #expect(response.headers["set-cookie"] != nil)
            #expect(response.mimeType == "text/html")
            #expect(response.text() == "&eacute;é")
            #expect(response.text(decodingHTMLEntities: true) == "éé")
        }

        @Test("Cancelling the task stops the request")
        func cancel() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*") { $0.hold() }
            let work = Task { try await lane.uploader.send(.get(lane.server.url("/x"))) }
            _ = try await lane.server.wait(timeout: .seconds(10)) { $0.requests.count == 1 }
            work.cancel()
            await #expect(throws: CancellationError.self) { _ = try await work.value }
            _ = try await lane.server.wait(timeout: .seconds(10)) { $0.openConnectionCount == 0 }
        }
    }

    @Suite struct Resetting {
        @Test("A reset ends what is under way or waits, closes connections, and leaves the uploader usable")
        func reset() async throws {
            let lane = try Lane { $0.maximumUploadsInFlight = 2 }
            lane.server.route(nil, "/hold") { $0.hold() }
            lane.server.route(nil, "/x", LoopbackServer.accept())
            for round in 0..<3 {
                let idle = try await lane.uploader.response(for: lane.request("/x"), from: bytes(10))
                #expect(idle.statusCode == 200)
                let tasks = (0..<4).map { _ in lane.uploader.task(for: lane.request("/hold"), from: bytes(10)) }
                let expected = round * 3 + 3
                _ = try await lane.server.wait(timeout: .seconds(10)) { $0.requests.count == expected }
                await lane.uploader.reset()
                #expect(lane.uploader.inFlight == 0)
                for task in tasks {
                    await #expect(throws: CancellationError.self) { _ = try await task.response }
                }
                _ = try await lane.server.wait(timeout: .seconds(10)) { $0.openConnectionCount == 0 }
            }
            #expect(try await lane.uploader.response(for: lane.request("/x"), from: bytes(10)).statusCode == 200)
        }

        @Test("Uploads that are started while a reset waits are not lost, and many resets do no harm")
        func concurrent() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/x", LoopbackServer.accept())
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask { await lane.uploader.reset() }
                    group.addTask {
                        do {
                            _ = try await lane.uploader.response(for: lane.request("/x"), from: bytes(10))
                        } catch is CancellationError {}
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await lane.uploader.response(for: lane.request("/x"), from: bytes(10)).statusCode == 200)
        }

        @Test("After a shutdown a reset starts nothing anew; a shutdown waits for a reset that is under way")
        func shutDown() async throws {
            let lane = try Lane()
            lane.server.route(nil, "/hold") { $0.hold() }
            let task = lane.uploader.task(for: lane.request("/hold"), from: bytes(10))
            _ = try await lane.server.wait(timeout: .seconds(10)) { $0.requests.count == 1 }
            async let reset: Void = lane.uploader.reset()
            await lane.uploader.shutDown(.cancelling)
            await reset
            await #expect(throws: CancellationError.self) { _ = try await task.response }
            await lane.uploader.reset()
            let error = await #expect(throws: UploadError.self) {
                _ = try await lane.uploader.send(.get(lane.server.url("/x")))
            }
            #expect(error?.code == .shutDown)
            _ = try await lane.server.wait(timeout: .seconds(10)) { $0.openConnectionCount == 0 }
        }
    }
}
