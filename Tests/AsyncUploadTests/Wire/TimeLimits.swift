import Foundation
import LoopbackServer
import Testing

@testable import AsyncUpload

extension OverTheWire {
    @Suite("Time limits") struct Limits {
        @Test("C80: a server that takes nothing in any more is given up after the limit", arguments: BodyKind.allCases)
        func stalled(kind: BodyKind) async throws {
            let lane = try Lane(receiveBufferSize: 64 << 10) { $0.timeoutIntervalForRequest = 0.4 }
            lane.server.route(nil, "/unread") { exchange in
                _ = try exchange.readBody(upTo: 64 << 10)
                exchange.hold()
            }
            let start = ContinuousClock.now
            #expect(try await lane.upload(bytes(30_000_000), as: kind, to: "/unread").code == .stalled)
            #expect(ContinuousClock.now - start >= .milliseconds(400))
        }

        @Test("C82: a server that never answers is given up, by the limit for the response or by that for everything")
        func unanswered() async throws {
            for configure: (inout Uploader.Configuration) -> Void in [
                { $0.timeoutIntervalForResponse = 0.3 }, { $0.timeoutIntervalForResource = 0.3 },
            ] {
                let lane = try Lane(configure: configure)
                lane.server.route(nil, "/unanswered", LoopbackServer.neverAnswer)
                for kind in BodyKind.allCases {
                    let start = ContinuousClock.now
                    #expect(try await lane.upload(bytes(1000), as: kind, to: "/unanswered").code == .timedOut)
                    #expect(ContinuousClock.now - start >= .milliseconds(300))
                }
            }
        }

        @Test("C83: fractions of a second are no zero, and a request's own limit goes before the others")
        func fractions() async throws {
            let lane = try Lane {
                $0.timeoutIntervalForRequest = 0.5
                $0.timeoutIntervalForResponse = 0.5
                $0.timeoutIntervalForResource = 30.5
            }
            lane.server.route(nil, "/unanswered", LoopbackServer.neverAnswer)
            lane.server.route(nil, "/late") { exchange in
                try exchange.readBody()
                try exchange.wait(.milliseconds(200))
                try exchange.respond(200)
            }
            #expect(try await lane.upload(bytes(1000), as: .data, to: "/late").response != nil)
            var request = lane.request("/unanswered")
            request.timeoutInterval = 0.05
            let start = ContinuousClock.now
            #expect(await Observation(lane.uploader.upload(for: request, from: bytes(10))).code == .timedOut)
            #expect(ContinuousClock.now - start >= .milliseconds(50))
        }

        @Test("C81: a slow server is no stalled one", .enabled(if: Carrier.underTest == .automatic))
        func slow() async throws {
            let lane = try Lane(receiveBufferSize: 64 << 10) { $0.timeoutIntervalForRequest = 0.5 }
            lane.server.route(nil, "/slow", LoopbackServer.accept(digesting: true, bytesPerSecond: 3_000_000))
            let data = bytes(6_000_000)
            #expect(try await lane.upload(data, as: .data, to: "/slow").response != nil)
            #expect(lane.server.requests.last?.digest == BodyDigest.of(data))
        }

        @Test("C84: the wait for the answer has a limit of its own", arguments: BodyKind.allCases)
        func lateAnswer(kind: BodyKind) async throws {
            let lane = try Lane {
                $0.timeoutIntervalForRequest = 0.2
                $0.timeoutIntervalForResponse = 10
            }
            lane.server.route(nil, "/late") { exchange in
                try exchange.readBody()
                try exchange.wait(.milliseconds(600))
                try exchange.respond(200)
            }
            #expect(try await lane.upload(bytes(1000), as: kind, to: "/late").response != nil)
        }

        @Test("C85: TLS with what does not speak it ends with the limit for connections")
        func connection() async throws {
            let lane = try Lane { $0.timeoutIntervalForConnection = 0.3 }
            // It waits for a request that never comes; TLS waits for its answer.
            var request = lane.request("/x")
            request.url = URL(string: "https://127.0.0.1:\(lane.server.port)/x")
            let start = ContinuousClock.now
            let seen = await Observation(lane.uploader.upload(for: request, from: bytes(10)))
            // The first bytes of TLS may look like a head that is none, which the server refuses at once.
            #expect([.timedOut, .secureConnectionFailed, .cannotConnect].contains(seen.code))
            if seen.code == .timedOut { #expect(ContinuousClock.now - start >= .milliseconds(300)) }
        }

        @Test("Whoever makes the body may take its time, but not more than there is for everything")
        func slowProducer() async throws {
            let lane = try Lane {
                $0.timeoutIntervalForRequest = 0.1
                $0.timeoutIntervalForResponse = 0.1
                $0.timeoutIntervalForResource = 0.6
            }
            lane.server.route(nil, "/x", LoopbackServer.sink)
            func body(_ pause: Duration) -> UploadBody {
                .stream(
                    Pieces { number in
                        if number == 1 { try await Task.sleep(for: pause) }
                        return number < 3 ? bytes(1000) : nil
                    }
                )
            }
            let request = lane.request("/x")
            #expect(
                await Observation(lane.uploader.upload(for: request, from: body(.milliseconds(300)))).response != nil
            )
            #expect(await Observation(lane.uploader.upload(for: request, from: body(.seconds(60)))).code == .timedOut)
        }
    }
}
