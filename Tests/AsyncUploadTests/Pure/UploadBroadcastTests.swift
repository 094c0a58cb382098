import Foundation
import Testing

@testable import AsyncUpload

@Suite("One story for every reader", .timeLimit(.minutes(5)))
struct UploadBroadcastTests {
    private let broadcast = UploadBroadcast()
    private let response = UploadResponse(statusCode: 200, body: Data("ok".utf8))

    private func report(_ fraction: Double, bytesSent: Int64 = 0) {
        broadcast.report(UploadProgress(fraction: fraction, bytesSent: bytesSent))
    }

    private func allEvents(_ events: UploadBroadcast.Events) async throws -> [UploadEvent] {
        var all: [UploadEvent] = []
        for try await event in events { all.append(event) }
        return all
    }

    @Test("The newest progress comes first, then the rest, then the end")
    func order() async throws {
        report(0.25)
        var reader = broadcast.makeEvents().makeAsyncIterator()
        #expect(try await reader.next() == .progress(0.25))
        report(0.5)
        #expect(try await reader.next() == .progress(0.5))
        report(1)
        broadcast.end(.success(response))
        #expect(try await reader.next() == .progress(1))
        #expect(try await reader.next() == .response(Data("ok".utf8)))
        #expect(try await reader.next() == nil)
    }

    @Test("A reader that comes after the response gets it all the same")
    func lateReader() async throws {
        report(1)
        broadcast.end(.success(response))
        for _ in 0..<2 {
            #expect(try await allEvents(broadcast.makeEvents()) == [.progress(1), .response(Data("ok".utf8))])
            #expect(try await broadcast.response().statusCode == 200)
            #expect(await broadcast.makeProgressUpdates().map(\.fraction).reduce(into: []) { $0.append($1) } == [1])
        }
    }

    @Test("A reader that comes after a failure gets it all the same")
    func lateReaderOfFailure() async throws {
        report(0.5)
        broadcast.end(.failure(UploadError(.timedOut)))
        let seen = await Observation(broadcast.makeEvents())
        #expect(seen.fractions == [0.5])
        #expect(seen.code == .timedOut)
        let error = await #expect(throws: UploadError.self) { try await broadcast.response() }
        #expect(error?.code == .timedOut)
        #expect(await broadcast.makeProgressUpdates().map(\.fraction).reduce(into: []) { $0.append($1) } == [0.5])
    }

    @Test("A reader that does not read gets the newest progress and the response")
    func slowReader() async throws {
        let events = broadcast.makeEvents()
        let updates = broadcast.makeProgressUpdates()
        for step in 1...1000 { report(Double(step) / 1000) }
        broadcast.end(.success(response))
        #expect(try await allEvents(events) == [.progress(1), .response(Data("ok".utf8))])
        #expect(await updates.map(\.fraction).reduce(into: []) { $0.append($1) } == [1])
    }

    @Test("A reader that does not read gets the failure, too")
    func slowReaderOfFailure() async {
        let events = broadcast.makeEvents()
        for step in 1...1000 { report(Double(step) / 2000) }
        broadcast.end(.failure(UploadError(.connectionLostDuringBody)))
        let seen = await Observation(events)
        #expect(seen.fractions.last == 0.5)
        #expect(seen.fractions.count <= 2)
        #expect(seen.code == .connectionLostDuringBody)
    }

    @Test("The same fraction is not told twice; the snapshots are")
    func equalFractions() async throws {
        var events = broadcast.makeEvents().makeAsyncIterator()
        var updates = broadcast.makeProgressUpdates().makeAsyncIterator()
        #expect(try await events.next() == .progress(0))
        #expect(await updates.next()?.bytesSent == 0)
        report(0.5, bytesSent: 5)
        #expect(try await events.next() == .progress(0.5))
        report(0.5, bytesSent: 6)
        #expect(await updates.next()?.bytesSent == 6)
        report(0.75, bytesSent: 7)
        #expect(try await events.next() == .progress(0.75))
        #expect(broadcast.progress.bytesSent == 7)
    }

    @Test("The first end counts, and nothing changes after it")
    func firstEnd() async throws {
        let early = broadcast.makeEvents()
        report(1)
        broadcast.end(.success(response))
        broadcast.end(.failure(UploadError(.timedOut)))
        broadcast.end(.success(UploadResponse(statusCode: 201)))
        report(0.5)
        #expect(broadcast.progress.fraction == 1)
        for events in [early, broadcast.makeEvents()] {
            #expect(try await allEvents(events) == [.progress(1), .response(Data("ok".utf8))])
        }
        #expect(try await broadcast.response().statusCode == 200)
    }

    @Test("An empty body is nil, and is a response")
    func emptyBody() async throws {
        broadcast.end(.success(UploadResponse(statusCode: 204)))
        #expect(try await allEvents(broadcast.makeEvents()) == [.progress(0), .response(nil)])
    }

    @Test("All who wait for the response get it")
    func responses() async throws {
        let waiting = (0..<50).map { _ in Task { try await broadcast.response().statusCode } }
        await Task.yield()
        broadcast.end(.success(response))
        for task in waiting { #expect(try await task.value == 200) }
    }

    @Test("Whoever waits for the response and is cancelled leaves alone, at any time")
    func cancelledWaiting() async throws {
        let waiting = (0..<50).map { _ in Task { try await broadcast.response().statusCode } }
        await Task.yield()
        for task in waiting.prefix(25) { task.cancel() }
        for task in waiting.prefix(25) { await #expect(throws: CancellationError.self) { try await task.value } }
        broadcast.end(.success(response))
        for task in waiting.dropFirst(25) { #expect(try await task.value == 200) }
        let late = Task { try await broadcast.response().statusCode }
        late.cancel()
        #expect(try await late.value == 200)
    }

    @Test("Readers are told apart: one that leaves does not disturb the others")
    func leavingAlone() async throws {
        let stays = broadcast.makeEvents()
        for try await _ in broadcast.makeEvents() { break }
        report(1)
        broadcast.end(.success(response))
        #expect(try await allEvents(stays) == [.progress(1), .response(Data("ok".utf8))])
    }

    @Test("Many readers at once see fractions that go forward, and the end")
    func manyReaders() async {
        await withTaskGroup(of: Observation.self) { group in
            for _ in 0..<30 { group.addTask { await Observation(broadcast.makeEvents()) } }
            group.addTask {
                for step in 1...2000 {
                    report(Double(step) / 2000)
                    if step.isMultiple(of: 50) { await Task.yield() }
                }
                broadcast.end(.success(response))
                return await Observation(broadcast.makeEvents())
            }
            for await seen in group { #expect(seen.text == "ok") }
        }
    }
}

@Suite("Leaving a story before its end", .timeLimit(.minutes(5)))
struct UploadBroadcastLeavingTests {
    private let broadcast = UploadBroadcast()
    private let left = Locked(0)

    private func makeEvents() -> UploadBroadcast.Events {
        broadcast.makeEvents { [left] in left.withLock { $0 += 1 } }
    }

    private var timesLeft: Int { left.withLock { $0 } }

    @Test("Breaking out of the loop is told once")
    func leavingTheLoop() async throws {
        for try await event in makeEvents() {
            #expect(event == .progress(0))
            #expect(timesLeft == 0)
            break
        }
        #expect(timesLeft == 1)
        broadcast.end(.failure(CancellationError()))
        #expect(timesLeft == 1)
    }

    @Test("Dropping the stream unread is told once")
    func dropping() {
        _ = makeEvents()
        #expect(timesLeft == 1)
    }

    @Test("Cancelling the reader's task is told once, and the loop throws")
    func cancelling() async {
        let events = makeEvents()
        let hasRead = Gate()
        let reader = Task { await Observation(events) { _ in hasRead.open() } }
        await hasRead.wait()
        #expect(timesLeft == 0)
        reader.cancel()
        let seen = await reader.value
        #expect(seen.isCancelled)
        #expect(seen.fractions == [0])
        #expect(timesLeft == 1)
    }

    @Test("Staying to the end is not leaving", arguments: [true, false])
    func staying(succeeds: Bool) async {
        do {
            let events = makeEvents()
            broadcast.end(succeeds ? .success(UploadResponse(statusCode: 200)) : .failure(UploadError(.timedOut)))
            var iterator = events.makeAsyncIterator()
            do { while try await iterator.next() != nil {} } catch { #expect(!succeeds) }
        }
        #expect(timesLeft == 0)
    }

    @Test("Dropping a stream that has ended unread is not leaving")
    func droppingAfterTheEnd() {
        do {
            let events = makeEvents()
            broadcast.end(.success(UploadResponse(statusCode: 200)))
            _ = events
        }
        #expect(timesLeft == 0)
    }

    @Test("Nothing is kept of a broadcast whose readers have left")
    func released() async throws {
        weak var released: UploadBroadcast?
        do {
            let broadcast = UploadBroadcast()
            released = broadcast
            for try await _ in broadcast.makeEvents(onLeaving: { _ = broadcast.progress }) { break }
            for await _ in broadcast.makeProgressUpdates() { break }
        }
        #expect(released == nil)
    }
}
