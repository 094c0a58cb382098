import Foundation

@testable import AsyncUpload

/// A clock for pauses that stands still until it is told to go on.
final class ManualClock: Sendable {
    private struct Sleeper {
        let deadline: ContinuousClock.Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now: ContinuousClock.Instant
        var sleepers: [UUID: Sleeper] = [:]
        /// How many ever slept, and how many of those were cancelled.
        var total = 0
        var cancelled = 0
    }

    let start: ContinuousClock.Instant
    private let state: Locked<State>

    init() {
        let start = ContinuousClock.now
        self.start = start
        state = Locked(State(now: start))
    }

    var clock: PauseClock {
        PauseClock(now: { self.now }, sleep: { try await self.sleep(until: $0) })
    }

    var now: ContinuousClock.Instant { state.withLock { $0.now } }
    var total: Int { state.withLock { $0.total } }
    var cancelled: Int { state.withLock { $0.cancelled } }

    /// When those who sleep now want to be woken, as durations since the start.
    var alarms: [Duration] {
        state.withLock { $0.sleepers.values.map(\.deadline).sorted() }.map { $0 - start }
    }

    /// Lets time pass, and wakes whom it is time for.
    func advance(by duration: Duration) {
        let woken = state.withLock { state in
            state.now += duration
            let now = state.now
            let woken = state.sleepers.filter { $0.value.deadline <= now }
            for id in woken.keys { state.sleepers[id] = nil }
            return woken.values.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }

    /// Wakes everybody although it is not time yet.
    func wakeEarly() {
        let woken = state.withLock { state in
            defer { state.sleepers = [:] }
            return state.sleepers.values.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }

    private func sleep(until deadline: ContinuousClock.Instant) async throws {
        let id = UUID()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let answer: Result<Void, any Error>? = state.withLock { state in
                    state.total += 1
                    if Task.isCancelled {
                        state.cancelled += 1
                        return .failure(CancellationError())
                    }
                    if deadline <= state.now { return .success(()) }
                    state.sleepers[id] = Sleeper(deadline: deadline, continuation: continuation)
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: id)
                if sleeper != nil { state.cancelled += 1 }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }
}
