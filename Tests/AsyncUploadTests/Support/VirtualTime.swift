import Foundation

@testable import AsyncUpload

/// Time that goes by only while somebody sleeps, and then at once.
final class VirtualTime: Sendable {
    private struct State {
        var elapsed = Duration.zero
        var randomNumbers: [Double]
    }

    private let start = (continuous: ContinuousClock.now, suspending: SuspendingClock.now)
    private let startDate: Date
    private let onSleep: @Sendable (Duration) async -> Void
    private let state: Locked<State>

    /// - Parameters:
    ///   - startDate: what time it is at first.
    ///   - randomNumbers: what is drawn, the last one again and again.
    ///   - onSleep: called before somebody sleeps.
    init(
        _ startDate: Date = Date(timeIntervalSince1970: 1_000_000_000),
        randomNumbers: [Double] = [0.5],
        onSleep: @escaping @Sendable (Duration) async -> Void = { _ in }
    ) {
        self.startDate = startDate
        self.onSleep = onSleep
        state = Locked(State(randomNumbers: randomNumbers))
    }

    var elapsed: Duration { state.withLock(\.elapsed) }

    func pass(_ duration: Duration) {
        state.withLock { $0.elapsed += duration }
    }

    var environment: DriverEnvironment {
        DriverEnvironment(
            now: { self.start.continuous + self.elapsed },
            awake: { self.start.suspending + self.elapsed },
            date: { self.startDate + self.elapsed / .seconds(1) },
            random: {
                self.state.withLock {
                    $0.randomNumbers.count > 1 ? $0.randomNumbers.removeFirst() : $0.randomNumbers[0]
                }
            },
            sleep: { duration in
                try Task.checkCancellation()
                await self.onSleep(duration)
                try Task.checkCancellation()
                self.pass(duration)
            }
        )
    }
}
