import Foundation

/// Time and chance, as an upload sees them; tests put their own in place.
struct DriverEnvironment: Sendable {
    /// What durations are measured with.
    var now: @Sendable () -> ContinuousClock.Instant
    /// What limits are measured with: time asleep does not count for them.
    var awake: @Sendable () -> SuspendingClock.Instant
    /// What a server means by a date.
    var date: @Sendable () -> Date
    /// A number in `0..<1`.
    var random: @Sendable () -> Double
    /// Suspends for so long. Throws `CancellationError` as soon as the current task is cancelled.
    var sleep: @Sendable (Duration) async throws -> Void

    static let system = DriverEnvironment(
        now: { .now },
        awake: { .now },
        date: { Date() },
        random: { .random(in: 0..<1) },
        sleep: { try await Task.sleep(for: $0, clock: .continuous) }
    )
}

extension DriverEnvironment {
    /// The same time, for the queue.
    var pauseClock: PauseClock {
        // No server is believed so far that the instant is out of the range of timers.
        PauseClock(now: now) { try await sleep(min($0 - now(), .seconds(86_400))) }
    }
}
