import Foundation

/// Turns byte counts into progress: a fraction that never goes back, a rate and the time remaining.
///
/// Pure: the time comes in from outside. How often it is asked is decided by ``ProgressGate``.
struct ProgressMeter {
    typealias Instant = ContinuousClock.Instant

    /// How much of the past the rate looks at.
    static let memory = 1.0

    private let totalBytes: Int64?
    private var fraction = 0.0
    private var attempt = 0
    private var bytes: Int64 = 0
    private var last: (bytes: Int64, at: Instant)
    private var average = 0.0
    private var weight = 0.0

    /// - Parameter totalBytes: the length of the body; `nil` when it is not known.
    init(totalBytes: Int64?, at now: Instant) {
        self.totalBytes = totalBytes
        last = (0, now)
    }

    /// The body is about to be sent (again), from its start.
    mutating func beginRequest(at now: Instant) -> UploadProgress {
        attempt += 1
        bytes = 0
        last = (0, now)
        (average, weight) = (0, 0)
        return progress
    }

    /// The upload goes on from there, for the first time or once more.
    mutating func goOn(from count: Int64, at now: Instant) -> UploadProgress {
        _ = beginRequest(at: now)
        return moved(to: count, at: now)
    }

    /// So many bytes are there, which nothing was sent for just now.
    mutating func moved(to count: Int64, at now: Instant) -> UploadProgress {
        last = (max(0, count), now)
        return sent(count, at: now)
    }

    /// The current request has handed over so many bytes.
    mutating func sent(_ count: Int64, at now: Instant) -> UploadProgress {
        bytes = max(0, totalBytes.map { min(count, $0) } ?? count)
        measureRate(at: now)
        if let totalBytes, totalBytes > 0 {
            fraction = max(fraction, Double(bytes) / Double(totalBytes))
        }
        return progress
    }

    /// The current request has handed over everything.
    mutating func finished(at now: Instant) -> UploadProgress {
        if let totalBytes { bytes = totalBytes }
        measureRate(at: now)
        fraction = 1
        return progress
    }

    /// Nothing is sent for so long, since the last request has failed.
    mutating func waiting(for delay: Duration, after reason: String) -> UploadProgress {
        (average, weight) = (0, 0)
        var progress = progress
        (progress.retryingIn, progress.retryReason) = (delay, reason)
        return progress
    }

    /// Nothing is sent for now, since nobody wants it.
    mutating func paused() -> UploadProgress {
        (average, weight) = (0, 0)
        var progress = progress
        progress.isPaused = true
        return progress
    }

    private var progress: UploadProgress {
        UploadProgress(
            fraction: fraction,
            bytesSent: bytes,
            totalBytes: totalBytes,
            bytesPerSecond: rate,
            estimatedTimeRemaining: timeRemaining,
            attempt: max(1, attempt)
        )
    }

    private var rate: Double {
        weight > 0 ? average / weight : 0
    }

    private var timeRemaining: Duration? {
        guard let totalBytes, rate > 0 else { return nil }
        let seconds = Double(totalBytes - bytes) / rate
        // Beyond a few centuries a duration could not hold it, and nobody waits for it.
        return seconds < 1e10 ? .seconds(seconds) : nil
    }

    /// An exponential moving average over about ``memory`` seconds; before that much time has gone by, the average
    /// since the request began.
    private mutating func measureRate(at now: Instant) {
        let elapsed = (now - last.at) / .seconds(1)
        guard elapsed > 0, bytes >= last.bytes else { return }
        let kept = exp(-elapsed / Self.memory)
        average = average * kept + Double(bytes - last.bytes) / elapsed * (1 - kept)
        // What the average has not seen yet must not count as a standstill.
        weight = weight * kept + (1 - kept)
        last = (bytes, now)
    }
}
