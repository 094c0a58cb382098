import AllocationCounter
import AsyncUpload
import Foundation
import Synchronization

/// What an event costs from the callback that tells of it to the reader that waits for it, without any network.
enum EventMachinery {
    /// How many uploads there are at a time.
    static let taskCounts = [1, 100, 1000]

    /// An event a step: an upload tells of each half percent.
    private static let steps = 199
    private static let bytesPerStep = 1000
    private static let eventsPerMeasurement = 40_000

    /// Tells every upload of one step, waits until all readers have read of it, and so on.
    static func measure(taskCount: Int) async throws -> Measurement {
        var (seconds, allocations, events) = (0.0, 0, 0)
        repeat {
            let feed = await EventFeed(count: taskCount, bodyLength: (steps + 1) * bytesPerStep)
            let readers = Readers(of: feed.tasks)
            async let reading: Void = readers.run()
            await readers.wait(until: 0)
            allocation_counter_start()
            let start = ContinuousClock.now
            for step in 1...steps {
                for number in 0..<taskCount { feed.didSend(step * bytesPerStep, of: number) }
                await readers.wait(until: Double(step) / Double(steps + 1))
            }
            seconds += (ContinuousClock.now - start) / .seconds(1)
            allocations += allocation_counter_stop()
            events += steps * taskCount
            await feed.end()
            try await reading
        } while events < eventsPerMeasurement
        return Measurement(
            nanoseconds: seconds * 1e9 / Double(events),
            allocations: allocation_counter_is_available() ? Double(allocations) / Double(events) : nil
        )
    }
}

/// One reader for each of some uploads.
private final class Readers: Sendable {
    private struct State {
        var fractions: [Double]
        var awaited = 0.0
        /// How many have not read so far.
        var missing = 0
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state: Mutex<State>
    private let streams: [AsyncThrowingStream<UploadEvent, any Error>]

    init(of tasks: [UploadTask]) {
        streams = tasks.map(\.events)
        state = Mutex(State(fractions: tasks.map { _ in -1 }))
    }

    /// Reads until all uploads have ended.
    func run() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            for (index, stream) in streams.enumerated() {
                group.addTask { [self] in
                    for try await event in stream {
                        if case .progress(let fraction) = event { didRead(fraction, index) }
                    }
                }
            }
        }
    }

    private func didRead(_ fraction: Double, _ index: Int) {
        let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
            defer { state.fractions[index] = fraction }
            guard state.fractions[index] < state.awaited, fraction >= state.awaited else { return nil }
            state.missing -= 1
            guard state.missing == 0 else { return nil }
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
    }

    /// Returns when every reader has read of as much.
    func wait(until fraction: Double) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                state.awaited = fraction
                state.missing = state.fractions.count { $0 < fraction }
                if state.missing > 0 { state.waiting = continuation }
                return state.missing == 0
            }
            if isThere { continuation.resume() }
        }
    }
}
