/// What time it is, and how to sleep until a later one; tests have their own.
struct PauseClock: Sendable {
    var now: @Sendable () -> ContinuousClock.Instant
    /// Returns at the instant or, since it is asked again then, earlier. Throws only if the current task is cancelled.
    var sleep: @Sendable (ContinuousClock.Instant) async throws -> Void

    static let system = DriverEnvironment.system.pauseClock
}
