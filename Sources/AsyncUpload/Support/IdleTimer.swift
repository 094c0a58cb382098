import Dispatch

/// Calls back at regular times, until it is released, so that a limit is noticed soon after it has passed.
final class IdleTimer {
    let interval: Duration
    private let source: any DispatchSourceTimer

    init(for limit: Duration, queue: DispatchQueue, onTick: @escaping @Sendable () -> Void) {
        interval = Self.interval(for: limit)
        source = DispatchSource.makeTimerSource(queue: queue)
        let milliseconds = Int(interval / .milliseconds(1))
        source.schedule(deadline: .now() + .milliseconds(milliseconds), repeating: .milliseconds(milliseconds))
        source.setEventHandler(handler: onTick)
        source.resume()
    }

    deinit {
        source.cancel()
    }

    /// A tenth of the limit, within bounds that cost nothing.
    static func interval(for limit: Duration) -> Duration {
        min(max(limit / 10, .milliseconds(10)), .seconds(1))
    }
}
