import Foundation
import Testing

@testable import AsyncUpload

/// Where an upload is when it is cancelled.
enum CancellationPoint: CaseIterable {
    case beforeTheStart, inTheQueue, beforeSendReturns, connected, midBody, waitingForTheAnswer, betweenTwoHops
    case insideTheResponse, afterTheResponse

    /// What the transport plays for the upload; it reaches the point, and stays there until it is stopped.
    func script(_ here: FakeTransport.Point) -> FakeTransport.Script {
        switch self {
        case .beforeTheStart: .init(steps: [.hold(here), .sentAll, .head(200)])
        case .inTheQueue, .afterTheResponse: .init(steps: [.sentAll, .head(200), .data("ok")])
        case .beforeSendReturns: .init(steps: [.sentAll, .head(200)], connecting: here)
        case .connected: .init(steps: [.hold(here), .sentAll, .head(200)])
        case .midBody: .init(steps: [.sent(500), .hold(here), .sentAll, .head(200)])
        case .waitingForTheAnswer: .init(steps: [.sentAll, .hold(here), .head(200)])
        case .betweenTwoHops: .init(steps: [.sentAll, .head(307, ["Location": "/hop"])], ending: here)
        case .insideTheResponse: .init(steps: [.sentAll, .head(200), .data("o"), .hold(here), .data("k")])
        }
    }

    /// Whether the transport has to be told that nobody listens any more.
    var isWithinTheExchange: Bool {
        switch self {
        case .beforeSendReturns, .connected, .midBody, .waitingForTheAnswer, .insideTheResponse: true
        case .beforeTheStart, .inTheQueue, .betweenTwoHops, .afterTheResponse: false
        }
    }

    /// Whether the transport goes on from here only when the test says so.
    var isHeldByTheTest: Bool { self == .beforeSendReturns || self == .betweenTwoHops }
}

/// How an upload is cancelled.
enum CancellationWay: CaseIterable {
    case handle, taskThatAwaits, taskThatIterates, leavingTheLoop, droppingTheStream
}

@Suite("Cancelling, wherever and however", .timeLimit(.minutes(5)))
struct CancellationDriving {
    typealias Point = FakeTransport.Point

    /// What there is to read of an upload that is cancelled.
    enum Ending {
        case response, cancelled
        /// The reader left.
        case unread
    }

    @Test(
        "It ends once, the exchange is stopped, the place is free, and nothing is sent afterwards",
        arguments: CancellationPoint.allCases,
        CancellationWay.allCases
    )
    func cancel(at point: CancellationPoint, by way: CancellationWay) async throws {
        let (occupied, here) = (Point(), Point())
        let occupying = FakeTransport.Script(steps: [.hold(occupied), .sentAll, .head(200)])
        var script = point.script(here)
        script.path = "/it"
        let lane = FakeLane(point == .inTheQueue ? [occupying, script] : [script]) { $0.maximumUploadsInFlight = 1 }
        var occupant: UploadTask?
        if point == .inTheQueue {
            occupant = lane.uploader.task(for: lane.request("/occupant"), from: bytes(1))
            await occupied.reached.wait()
        }

        let trial = CancellationTrial(lane: lane, point: point, here: here)
        let ending = await trial.run(way)

        occupied.go.open()
        if point.isHeldByTheTest { here.go.open() }
        if let occupant { #expect(try await occupant.response.statusCode == 200) }
        // There is only one place: this upload runs when the other one's is free.
        #expect(try await lane.uploader.response(for: lane.request("/next"), from: bytes(1)).statusCode == 200)
        await lane.uploader.shutDown()

        expect(ending, at: point, by: way)
        expectLog(lane.fake.log, at: point)
    }

    private func expect(_ ending: Ending, at point: CancellationPoint, by way: CancellationWay) {
        switch way {
        case .handle, .taskThatAwaits, .taskThatIterates:
            #expect(ending == (point == .afterTheResponse ? .response : .cancelled))
        case .leavingTheLoop, .droppingTheStream:
            #expect(ending == .unread)
        }
    }

    private func expectLog(_ log: [String], at point: CancellationPoint) {
        let rest = ["send /next", "ended /next", "shutDown"]
        switch point {
        case .beforeTheStart:
            // The upload may have come as far as the transport before it was told.
            let started = ["send /it", "stop /it", "ended /it"]
            #expect(log == rest || log == started + rest)
        case .inTheQueue: #expect(log == ["send /occupant", "ended /occupant"] + rest)
        case .betweenTwoHops, .afterTheResponse: #expect(log == ["send /it", "ended /it"] + rest)
        case .beforeSendReturns, .connected, .midBody, .waitingForTheAnswer, .insideTheResponse:
            #expect(log == ["send /it", "stop /it", "ended /it"] + rest)
        }
    }

    @Test("What is cancelled before it starts never reaches the transport")
    func neverSent() async throws {
        let lane = FakeLane()
        let mayStart = Gate()
        let awaiting = Task {
            await mayStart.wait()
            _ = try await lane.uploader.response(for: lane.request(), from: bytes(10))
        }
        let iterating = Task {
            await mayStart.wait()
            return await Observation(lane.uploader.upload(for: lane.request(), from: bytes(10)))
        }
        awaiting.cancel()
        iterating.cancel()
        mayStart.open()
        await #expect(throws: CancellationError.self) { try await awaiting.value }
        #expect(await iterating.value.isCancelled)
        #expect(lane.fake.log == [])
    }

    @Test("Leaving one reader of a handle leaves the upload alone")
    func leavingAHandle() async throws {
        let here = Point()
        let lane = FakeLane([.hold(here), .sentAll, .head(200)])
        let task = lane.uploader.task(for: lane.request(), from: bytes(10))
        for try await _ in task.events { break }
        for await _ in task.progress { break }
        let reader = Task { await Observation(task.events) }
        reader.cancel()
        #expect(await reader.value.isCancelled)
        here.go.open()
        #expect(try await task.response.statusCode == 200)
        #expect(lane.fake.log == ["send /a", "ended /a"])
    }

    @Test("Cancelling twice, and from many places at once, is cancelling once")
    func manyTimes() async throws {
        let here = Point()
        let lane = FakeLane([.sent(5), .hold(here), .sentAll, .head(200)])
        let task = lane.uploader.task(for: lane.request(), from: bytes(10))
        let reader = Task { await Observation(task.events) }
        await here.reached.wait()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { task.cancel() } }
        }
        #expect(await reader.value.isCancelled)
        await task.waitUntilReleased()
        #expect(lane.fake.log == ["send /a", "stop /a", "ended /a"])
    }
}

/// One upload that is cancelled at a point.
private struct CancellationTrial {
    typealias Events = AsyncThrowingStream<UploadEvent, any Error>

    let lane: FakeLane
    let point: CancellationPoint
    let here: FakeTransport.Point

    private var request: URLRequest { lane.request("/it") }
    private let data = bytes(1000)

    init(lane: FakeLane, point: CancellationPoint, here: FakeTransport.Point) {
        self.lane = lane
        self.point = point
        self.here = here
    }

    func run(_ way: CancellationWay) async -> CancellationDriving.Ending {
        switch way {
        case .handle: await cancelHandle()
        case .taskThatAwaits: await cancelAwaiting()
        case .taskThatIterates: await cancelIterating()
        case .leavingTheLoop: await leaveLoop()
        case .droppingTheStream: await dropStream()
        }
    }

    /// Returns when the upload has come to the point; where it can be told only by its events, they have to tell.
    private func arrival(_ reachedResponse: Gate? = nil) async {
        switch point {
        case .beforeTheStart, .inTheQueue: break
        case .afterTheResponse: await reachedResponse?.wait()
        default: await here.reached.wait()
        }
    }

    private func cancelHandle() async -> CancellationDriving.Ending {
        let task = lane.uploader.task(for: request, from: data)
        let reader = Task { await Observation(task.events) }
        if point == .afterTheResponse { await task.waitUntilReleased() }
        await arrival()
        task.cancel()
        let seen = await reader.value
        let again = await Observation(task.events)
        #expect((seen.response != nil) == (again.response != nil))
        return ending(of: await Task { _ = try await task.response }.result, and: again)
    }

    private func cancelAwaiting() async -> CancellationDriving.Ending {
        let (mayStart, hasStarted, hasResponse) = (Gate(), Gate(), Gate())
        let awaiting = Task {
            await mayStart.wait()
            hasStarted.open()
            _ = try await lane.uploader.response(for: request, from: data)
            hasResponse.open()
        }
        if point == .beforeTheStart { awaiting.cancel() }
        mayStart.open()
        await hasStarted.wait()
        // Nothing tells that it waits in the queue; what is expected is the same if it does not yet.
        for _ in 0..<50 { await Task.yield() }
        await arrival(hasResponse)
        awaiting.cancel()
        return ending(of: await awaiting.result)
    }

    private func cancelIterating() async -> CancellationDriving.Ending {
        let (mayStart, hasStarted, hasResponse, mayLeave) = (Gate(), Gate(), Gate(), Gate())
        let iterating = Task {
            await mayStart.wait()
            return await Observation(lane.uploader.upload(for: request, from: data)) { event in
                hasStarted.open()
                if case .response = event {
                    hasResponse.open()
                    await mayLeave.wait()
                }
            }
        }
        if point == .beforeTheStart { iterating.cancel() }
        mayStart.open()
        await hasStarted.wait()
        await arrival(hasResponse)
        // The stream is finished right after its response.
        for _ in 0..<50 { await Task.yield() }
        iterating.cancel()
        mayLeave.open()
        return ending(of: nil, and: await iterating.value)
    }

    private func leaveLoop() async -> CancellationDriving.Ending {
        do {
            for try await event in lane.uploader.upload(for: request, from: data) {
                if point == .afterTheResponse, case .progress = event { continue }
                await arrival()
                break
            }
        } catch {
            Issue.record(error)
        }
        return .unread
    }

    private func dropStream() async -> CancellationDriving.Ending {
        let held = Locked<Events?>(lane.uploader.upload(for: request, from: data))
        if point == .afterTheResponse, let events = held.withLock({ $0 }) {
            #expect(await Observation(events).response != nil)
        }
        await arrival()
        let dropped = held.withLock { events in
            defer { events = nil }
            return events
        }
        #expect(dropped != nil)
        return .unread
    }

    /// One way or the other, and if both are looked at, the same.
    private func ending(of result: Result<Void, any Error>?, and seen: Observation? = nil) -> CancellationDriving.Ending
    {
        var endings: Set<CancellationDriving.Ending> = []
        switch result {
        case .success: endings.insert(.response)
        case .failure(let error):
            #expect(error is CancellationError)
            endings.insert(.cancelled)
        case nil: break
        }
        if let seen {
            #expect(seen.isCancelled == (seen.error != nil))
            endings.insert(seen.isCancelled ? .cancelled : .response)
        }
        #expect(endings.count == 1)
        return endings.first ?? .unread
    }
}
