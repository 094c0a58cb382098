import Foundation
import Testing

@testable import AsyncUpload

@Suite("How uploads end, and what is left of them", .timeLimit(.minutes(5)))
struct LifetimeDriving {
    typealias Point = FakeTransport.Point

    private func oneAtATime(_ scripts: FakeTransport.Script...) -> FakeLane {
        FakeLane(scripts) { $0.maximumUploadsInFlight = 1 }
    }

    @Test("A place is not given away before the transport has let go")
    func placeIsKept() async throws {
        let ending = Point()
        let lane = oneAtATime(.init(steps: [.sentAll, .head(200)], ending: ending))
        let first = lane.uploader.task(for: lane.request("/1"), from: bytes(10))
        let second = lane.uploader.task(for: lane.request("/2"), from: bytes(10))
        await ending.reached.wait()
        for _ in 0..<20 { await Task.yield() }
        #expect(lane.fake.log == ["send /1"])
        ending.go.open()
        #expect(try await first.response.statusCode == 200)
        #expect(try await second.response.statusCode == 200)
        #expect(lane.fake.log == ["send /1", "ended /1", "send /2", "ended /2"])
    }

    @Test("A place of a cancelled upload is not given away before the transport has let go, either")
    func placeOfCancelledIsKept() async throws {
        let (here, ending) = (Point(), Point())
        let lane = oneAtATime(.init(steps: [.hold(here)], ending: ending))
        let first = lane.uploader.task(for: lane.request("/1"), from: bytes(10))
        let second = lane.uploader.task(for: lane.request("/2"), from: bytes(10))
        await here.reached.wait()
        first.cancel()
        // The reader does not wait for the connection.
        await #expect(throws: CancellationError.self) { try await first.response }
        await ending.reached.wait()
        #expect(lane.fake.log == ["send /1", "stop /1"])
        ending.go.open()
        await first.waitUntilReleased()
        #expect(try await second.response.statusCode == 200)
        #expect(lane.fake.log == ["send /1", "stop /1", "ended /1", "send /2", "ended /2"])
    }

    @Test("Uploads go in the order in which they were started")
    func order() async throws {
        let here = Point()
        let lane = oneAtATime(.init(steps: [.hold(here), .sentAll, .head(200)]))
        let tasks = (0..<50).map { lane.uploader.task(for: lane.request("/\($0)"), from: bytes(10)) }
        await here.reached.wait()
        here.go.open()
        for task in tasks { #expect(try await task.response.statusCode == 200) }
        #expect(lane.fake.received.map(\.path) == (0..<50).map { "/\($0)" })
    }

    @Test("Events that come after the end change nothing")
    func lateEvents() async throws {
        let here = Point()
        let late: [FakeTransport.Step] = [
            .hold(here), .sentAll, .head(200), .data("late"), .fail(UploadError(.timedOut)),
        ]
        let lane = oneAtATime(.init(steps: late, playsOnWhenStopped: true))
        let task = lane.uploader.task(for: lane.request("/1"), from: bytes(10))
        await here.reached.wait()
        task.cancel()
        #expect(await Observation(task.events).isCancelled)
        here.go.open()
        await task.waitUntilReleased()
        #expect(lane.fake.log == ["send /1", "stop /1", "ended /1"])
        #expect(await Observation(task.events).isCancelled)
        #expect(task.currentProgress.fraction == 0)
        #expect(try await lane.uploader.response(for: lane.request("/2"), from: bytes(10)).statusCode == 200)
    }

    @Test("After shutting down nothing begins", arguments: [.finishing, .cancelling] as [Uploader.ShutdownMode])
    func refuses(mode: Uploader.ShutdownMode) async throws {
        let lane = FakeLane()
        await lane.uploader.shutDown(mode)
        #expect(try await lane.failure().code == .shutDown)
        #expect(await Observation(lane.uploader.upload(for: lane.request(), from: bytes(1))).code == .shutDown)
        let task = lane.uploader.task(for: lane.request(), from: bytes(1))
        #expect(await Observation(task.events).code == .shutDown)
        await task.waitUntilReleased()
        #expect(lane.fake.log == ["shutDown"])
        await lane.uploader.shutDown()
        #expect(lane.fake.log == ["shutDown", "shutDown"])
    }

    @Test("Finishing waits for what runs and what waits, and only then shuts the transport down")
    func finishing() async throws {
        let (here, ending) = (Point(), Point())
        let lane = oneAtATime(
            .init(steps: [.hold(here), .sentAll, .head(200)]),
            .init(steps: [.sentAll, .head(200)], ending: ending)
        )
        let running = lane.uploader.task(for: lane.request("/1"), from: bytes(10))
        let waiting = lane.uploader.task(for: lane.request("/2"), from: bytes(10))
        await here.reached.wait()
        let shutDown = Task { await lane.uploader.shutDown(.finishing) }
        try await lane.waitUntilClosed()
        here.go.open()
        await ending.reached.wait()
        for _ in 0..<20 { await Task.yield() }
        #expect(lane.fake.log == ["send /1", "ended /1", "send /2"])
        ending.go.open()
        await shutDown.value
        #expect(lane.fake.log == ["send /1", "ended /1", "send /2", "ended /2", "shutDown"])
        #expect(try await running.response.statusCode == 200)
        #expect(try await waiting.response.statusCode == 200)
    }

    @Test("Cancelling stops what runs and what waits, and shuts the transport down when all is let go")
    func cancelling() async throws {
        let (here, ending) = (Point(), Point())
        let lane = oneAtATime(.init(steps: [.sent(5), .hold(here)], ending: ending))
        let running = lane.uploader.task(for: lane.request("/1"), from: bytes(10))
        let waiting = lane.uploader.task(for: lane.request("/2"), from: bytes(10))
        await here.reached.wait()
        let shutDown = Task { await lane.uploader.shutDown(.cancelling) }
        await #expect(throws: CancellationError.self) { try await running.response }
        await #expect(throws: CancellationError.self) { try await waiting.response }
        await ending.reached.wait()
        for _ in 0..<20 { await Task.yield() }
        #expect(lane.fake.log == ["send /1", "stop /1"])
        ending.go.open()
        await shutDown.value
        #expect(lane.fake.log == ["send /1", "stop /1", "ended /1", "shutDown"])
    }

    @Test("Cancelling also ends an earlier finishing")
    func cancellingAfterFinishing() async throws {
        let here = Point()
        let lane = oneAtATime(.init(steps: [.hold(here)]))
        let running = lane.uploader.task(for: lane.request("/1"), from: bytes(10))
        await here.reached.wait()
        let finishing = Task { await lane.uploader.shutDown(.finishing) }
        try await lane.waitUntilClosed()
        await lane.uploader.shutDown(.cancelling)
        await finishing.value
        await #expect(throws: CancellationError.self) { try await running.response }
        #expect(lane.fake.log == ["send /1", "stop /1", "ended /1", "shutDown", "shutDown"])
    }

    @Test("Dropping the uploader leaves its uploads alone; the transport goes after the last of them")
    func droppingTheUploader() async throws {
        let here = Point()
        weak var transport: FakeTransport?
        let tasks: [UploadTask]
        do {
            let lane = oneAtATime(.init(steps: [.hold(here), .sentAll, .head(200)]))
            transport = lane.fake
            tasks = (1...3).map { lane.uploader.task(for: lane.request("/\($0)"), from: bytes(10)) }
        }
        await here.reached.wait()
        #expect(transport != nil)
        here.go.open()
        for task in tasks { #expect(try await task.response.statusCode == 200) }
        for task in tasks { await task.waitUntilReleased() }
        try await eventually("the transport is still there") { transport == nil }
        // The handles still tell the story.
        #expect(await Observation(tasks[0].events).response != nil)
    }

    enum End: CaseIterable {
        case accepted, refused, failed, cancelled
    }

    @Test("Nothing keeps the body or the transport after the end, though the handle is kept", arguments: End.allCases)
    func released(end: End) async throws {
        let (freed, here) = (Gate(), Point())
        weak var transport: FakeTransport?
        let task: UploadTask
        do {
            let script: [FakeTransport.Step] =
                switch end {
                case .accepted: [.hold(here), .sentAll, .head(200)]
                case .refused: [.hold(here), .sentAll, .head(500)]
                case .failed: [.hold(here), .fail(UploadError(.connectionLostDuringBody))]
                case .cancelled: [.hold(here), .sentAll, .head(200)]
                }
            let lane = FakeLane(script)
            transport = lane.fake
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 1000, alignment: 1)
            memory.initializeMemory(as: UInt8.self, repeating: 7)
            let data = Data(
                bytesNoCopy: try #require(memory.baseAddress),
                count: memory.count,
                deallocator: .custom { memory, _ in
                    memory.deallocate()
                    freed.open()
                }
            )
            task = lane.uploader.task(for: lane.request(), from: data)
        }
        await here.reached.wait()
        #expect(!freed.isOpen)
        if end == .cancelled { task.cancel() } else { here.go.open() }
        let seen = await Observation(task.events)
        #expect((seen.response != nil) == (end == .accepted))
        await task.waitUntilReleased()
        await freed.wait()
        try await eventually("the transport is still there") { transport == nil }
    }
}

extension FakeLane {
    /// Returns once nothing more may begin. What cannot be sent tells at once whether it is so.
    fileprivate func waitUntilClosed() async throws {
        while try await failure(bytes(1), method: "GET").code != .shutDown { await Task.yield() }
    }
}
