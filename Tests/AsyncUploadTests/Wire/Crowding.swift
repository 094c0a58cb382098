import Foundation
import LoopbackServer
import Testing

@testable import AsyncUpload

extension OverTheWire {
    @Suite("Servers that have too much to do, limits and priorities")
    struct Crowding {
        /// What a server lets in at a time; whatever comes on top of that is refused.
        private final class Doorkeeper: Sendable {
            let capacity: Int
            private let inside = Locked(0)

            init(capacity: Int) { self.capacity = capacity }

            func serve(_ exchange: Exchange) throws {
                let isIn = inside.withLock { inside in
                    guard inside < capacity else { return false }
                    inside += 1
                    return true
                }
                guard isIn else {
                    try exchange.readBody()
                    return try exchange.respond(429)
                }
                try exchange.readBody(digesting: true)
                try exchange.wait(.milliseconds(5))
                inside.withLock { $0 -= 1 }
                try exchange.respond(201)
            }
        }

        @Test(
            "200 uploads to a server that takes 4 at a time all arrive, with fewer than 2 refusals each",
            arguments: [6, 64, 200]
        )
        func brake(limit: Int) async throws {
            let lane = try Lane {
                $0.retry = .exponential(initialDelay: .milliseconds(50))
                $0.maximumUploadsInFlight = limit
            }
            let doorkeeper = Doorkeeper(capacity: 4)
            lane.server.route("PUT", "/*") { try doorkeeper.serve($0) }
            let data = bytes(20_000)
            let tasks = (0..<200).map { lane.uploader.task(for: lane.request("/\($0)"), from: data) }
            for task in tasks { _ = try await task.response }
            let statuses = lane.server.requests.map(\.status)
            #expect(statuses.count { $0 == 201 } == 200)
            let refused = statuses.count { $0 == 429 }
            #expect(refused < 400, "\(refused) of \(statuses.count) were refused")
            #expect(lane.server.requests.filter { $0.status == 201 }.allSatisfy { $0.digest == BodyDigest.of(data) })
        }

        @Test("A server that is braked is not asked by others before its time is up, and other servers are")
        func pause() async throws {
            let lane = try Lane {
                $0.retry = .exponential()
                $0.maximumUploadsInFlight = 1
            }
            let other = try LoopbackServer()
            other.route("PUT", "/*", LoopbackServer.sink)
            let arrivals = Locked<[ContinuousClock.Instant]>([])
            lane.server.route("PUT", "/*") { exchange in
                arrivals.withLock { $0.append(.now) }
                try exchange.readBody()
                guard exchange.request.index == 0 else { return try exchange.respond(200) }
                try exchange.respond(503, headers: [("Retry-After", "1")])
            }
            let first = lane.uploader.task(for: lane.request("/first"), from: bytes(10))
            for await progress in first.progress where progress.retryingIn != nil { break }
            let second = lane.uploader.task(for: lane.request("/second"), from: bytes(10))
            let elsewhere = URLRequest(url: other.url("/x"), method: "PUT")
            _ = try await lane.uploader.response(for: elsewhere, from: bytes(10))
            #expect(lane.server.requests.count == 1)
            _ = try await (first.response, second.response)
            let times = arrivals.withLock { $0 }
            #expect(times.count == 3)
            #expect(times.dropFirst().allSatisfy { $0 - times[0] >= .seconds(1) })
        }

        @Test("A limit for each server leaves the other servers their places")
        func limitPerHost() async throws {
            let lane = try Lane {
                $0.maximumUploadsInFlight = 4
                $0.maximumUploadsInFlightPerHost = 2
            }
            let other = try LoopbackServer()
            other.route("PUT", "/*", LoopbackServer.sink)
            let go = DispatchSemaphore(value: 0)
            lane.server.route("PUT", "/*") { exchange in
                try exchange.readBody()
                _ = go.wait(timeout: .now() + 60)
                try exchange.respond(200)
            }
            let held = (0..<10).map { lane.uploader.task(for: lane.request("/\($0)"), from: bytes(10)) }
            for number in 0..<20 {
                let request = URLRequest(url: other.url("/\(number)"), method: "PUT")
                _ = try await lane.uploader.response(for: request, from: bytes(10))
            }
            #expect(lane.server.requests.count <= 2)
            for _ in held { go.signal() }
            for task in held { _ = try await task.response }
        }

        @Test("Limits can be changed while uploads are under way")
        func changedLimits() async throws {
            let lane = try Lane { $0.maximumUploadsInFlight = 1 }
            let go = DispatchSemaphore(value: 0)
            lane.server.route("PUT", "/*") { exchange in
                try exchange.readBody()
                _ = go.wait(timeout: .now() + 60)
                try exchange.respond(200)
            }
            let tasks = (0..<12).map { lane.uploader.task(for: lane.request("/\($0)"), from: bytes(10)) }
            try await lane.server.wait { $0.requests.filter(\.isComplete).count == 1 }
            lane.uploader.maximumUploadsInFlight = 9
            // More than the uploader was made for.
            try await lane.server.wait { $0.requests.filter(\.isComplete).count == 9 }
            lane.uploader.maximumUploadsInFlightPerHost = 2
            #expect(lane.uploader.maximumUploadsInFlightPerHost == 2)
            for _ in 0..<7 { go.signal() }
            try await lane.server.wait { $0.requests.filter { $0.status == 200 }.count == 7 }
            go.signal()
            try await lane.server.wait { $0.requests.filter(\.isComplete).count == 10 }
            for _ in 0..<4 { go.signal() }
            for task in tasks { _ = try await task.response }
            #expect(lane.server.requests.count == 12)
        }

        @Test("What has a higher priority goes before what came earlier")
        func priorities() async throws {
            let lane = try Lane { $0.maximumUploadsInFlight = 1 }
            let go = DispatchSemaphore(value: 0)
            lane.server.route("PUT", "/*", LoopbackServer.sink)
            lane.server.route("PUT", "/first") { exchange in
                try exchange.readBody()
                _ = go.wait(timeout: .now() + 60)
                try exchange.respond(200)
            }
            let first = lane.uploader.task(for: lane.request("/first"), from: bytes(10))
            let tasks = (0..<6).map { lane.uploader.task(for: lane.request("/\($0)"), from: bytes(10)) }
            #expect(tasks[0].priority == 0.5)
            tasks[4].priority = 0.9
            tasks[5].priority = 7
            tasks[0].priority = 0.1
            tasks[1].priority = .nan
            #expect(tasks.map(\.priority) == [0.1, 0.5, 0.5, 0.5, 0.9, 1])
            go.signal()
            _ = try await first.response
            for task in tasks { _ = try await task.response }
            #expect(lane.server.requests.map(\.path) == ["/first", "/5", "/4", "/1", "/2", "/3", "/0"])
        }

        @Test("Waiting for a turn does not count for the time that an upload may take")
        func timeInQueue() async throws {
            let lane = try Lane {
                $0.maximumUploadsInFlight = 1
                $0.timeoutIntervalForResource = 2
            }
            lane.server.route("PUT", "/*") { exchange in
                try exchange.readBody()
                try exchange.wait(.milliseconds(900))
                try exchange.respond(200)
            }
            let clock = ContinuousClock()
            let elapsed = try await clock.measure {
                let tasks = (0..<4).map { lane.uploader.task(for: lane.request("/\($0)"), from: bytes(10)) }
                for task in tasks { _ = try await task.response }
            }
            #expect(elapsed > .seconds(3))
        }
    }
}
