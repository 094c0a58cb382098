import Dispatch

/// Calls back at regular times, until it is released.
final class IntervalTimer {
    let interval: Duration
    private let source: any DispatchSourceTimer

    init(interval: Duration, queue: DispatchQueue, onTick: @escaping @Sendable () -> Void) {
        self.interval = interval
        source = DispatchSource.makeTimerSource(queue: queue)
        let milliseconds = Int(interval / .milliseconds(1))
        source.schedule(deadline: .now() + .milliseconds(milliseconds), repeating: .milliseconds(milliseconds))
        source.setEventHandler(handler: onTick)
        source.resume()
    }

    deinit {
        source.cancel()
    }
}
