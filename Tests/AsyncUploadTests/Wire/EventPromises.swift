@testable import AsyncUpload
import Foundation
import LoopbackServer
import Testing

extension OverTheWire {
    /// What the events of an upload promise: promises 1 to 4, cases C02, C04, C05, C07, C08, C91.
    @Suite struct Events {
        @Test("C04: small bodies have one fixed sequence of events", arguments: [0, 1, 10], BodyKind.allCases)
        func smallBodies(count: Int, kind: BodyKind) async throws {
            let lane = try Lane()
            lane.server.route(nil, "/*", LoopbackServer.accept(keeping: true))
            let seen = try await lane.upload(bytes(count), as: kind, to: "/small")
            // A reader that comes late may have missed the first one.
            #expect(seen.fractions == [0, 1] || seen.fractions == [1])
            #expect(seen.response == .some(nil))
            #expect(lane.server.requests.map(\.body) == [bytes(count)])
        }

        @Test("The body of the response comes with the last event", arguments: BodyKind.allCases)
        func responseBody(kind: BodyKind) async throws {
            let lane = try Lane()
            lane.server.route("PUT", "/*", LoopbackServer.accept(status: 201, digesting: true, body: "stored"))
            let data = bytes(3_000_000)
            let seen = try await lane.upload(data, as: kind, to: "/x")
            #expect(seen.text == "stored")
            #expect(lane.server.requests.map(\.digest) == [BodyDigest.of(data)])
        }

        @Test("C02: 1.0 may come early, the response only after the server's answer", arguments: BodyKind.allCases)
        func responseWaitsForTheServer(kind: BodyKind) async throws {
            let lane = try Lane()
            lane.server.route("PUT", "/*") { exchange in
                try exchange.readBody(bytesPerSecond: 6_000_000)
                try exchange.respond(200)
            }
            let server = lane.server
            let seen = try await lane.upload(bytes(6_000_000), as: kind, to: "/slow") { event in
                guard case .response = event else { return }
                #expect(server.requests.first?.bodyByteCount == 6_000_000)
                #expect(server.requests.first?.status == 200)
            }
            #expect(seen.response != nil)
        }

        @Test("C05: a slow reader gets few events, and always the response", arguments: BodyKind.allCases)
        func slowReader(kind: BodyKind) async throws {
            let lane = try Lane()
            lane.server.route("PUT", "/*", LoopbackServer.accept(body: "ok"))
            let server = lane.server
            // The reader stands still from the first event until the server has answered: what it has missed by then
            // is gone but for the newest.
            let seen = try await lane.upload(bytes(30_000_000), as: kind, to: "/x") { event in
                guard case .progress = event else { return }
                try await server.wait { $0.requests.first?.ended == true }
            }
            #expect(seen.text == "ok")
            // Without dropping there would be about 200; a few may still have come once the reader went on.
            #expect(seen.fractions.count < 20)
        }

        @Test("At most one event per 0.5 % or 50 ms, and enough of them", arguments: BodyKind.allCases)
        func coalesced(kind: BodyKind) async throws {
            let lane = try Lane()
            lane.server.route("PUT", "/*", LoopbackServer.sink)
            let start = ContinuousClock.now
            let seen = try await lane.upload(bytes(64 << 20), as: kind, to: "/x")
            let ticks = Int((ContinuousClock.now - start) / .milliseconds(50))
            #expect(seen.fractions.count <= 202 + ticks)
        }

        @Test("C08: progress comes in many steps", arguments: BodyKind.allCases.filter(\.hasLength))
        func manySteps(kind: BodyKind) async throws {
            let lane = try Lane(receiveBufferSize: 64 << 10)
            lane.server.route("PUT", "/*", LoopbackServer.accept(bytesPerSecond: 40_000_000))
            let seen = try await lane.upload(bytes(20_000_000), as: kind, to: "/x")
            #expect(Set(seen.fractions).count >= 10)
        }

        @Test(
            "C07, C91: a refused upload shows 1.0, then fails with status, headers and body",
            arguments: BodyKind.allCases
        )
        func refused(kind: BodyKind) async throws {
            let lane = try Lane()
            let reason = #"{"error":"\#(String(repeating: "x", count: 2000))"}"#
            lane.server.route("PUT", "/*") { exchange in
                try exchange.readBody()
                try exchange.respond(
                    422,
                    headers: [("Content-Type", "application/json"), ("X-Why", "size")],
                    body: reason
                )
            }
            let seen = try await lane.upload(bytes(100_000), as: kind, to: "/x")
            let error = try #require(seen.error as? UploadError)
            #expect(seen.fractions.last == 1)
            #expect(error.code == .unacceptableStatus)
            #expect(error.response?.statusCode == 422)
            #expect(error.response?.headers["x-why"] == "size")
            #expect(error.response?.text() == reason)
            #expect(error.attempts == 1)
        }

        @Test("Every reader of a task gets the newest progress at once, and the end, late ones too")
        func severalReaders() async throws {
            let lane = try Lane()
            let half = 4 << 20
            lane.server.route("PUT", "/*") { exchange in
                _ = try exchange.readBody(upTo: half)
                try exchange.wait(.milliseconds(100))
                try exchange.readBody()
                try exchange.respond(200, body: "done")
            }
            let task = lane.uploader.task(for: lane.request("/x"), from: bytes(2 * half))
            async let first = Observation(task.events)
            async let second = Observation(task.events)
            let response = try await task.response
            #expect(response.text() == "done")
            #expect(await first.text == "done")
            #expect(await second.text == "done")
            let late = await Observation(task.events)
            #expect(late.fractions == [1])
            #expect(late.text == "done")
            var snapshots: [UploadProgress] = []
            for await progress in task.progress { snapshots.append(progress) }
            #expect(snapshots.map(\.bytesSent) == [Int64(2 * half)])
            #expect(task.currentProgress.fraction == 1)
        }

        @Test("Several uploads with one uploader keep their events apart")
        func independentUploads() async throws {
            let lane = try Lane { $0.maximumUploadsInFlight = 4 }
            lane.server.route("PUT", "/*") { exchange in
                try exchange.readBody(digesting: true)
                try exchange.respond(200, body: exchange.request.path)
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<16 {
                    group.addTask {
                        let data = bytes(200_000 + number, seed: UInt64(number + 1))
                        let seen = try await lane.upload(data, as: .data, to: "/\(number)")
                        #expect(seen.text == "/\(number)")
                        let received = lane.server.requests.first { $0.path == "/\(number)" }
                        #expect(received?.digest == BodyDigest.of(data))
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
