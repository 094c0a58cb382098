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
    private var rate: Double?

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
        rate = nil
        return progress
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

    private var progress: UploadProgress {
        UploadProgress(
            fraction: fraction,
            bytesSent: bytes,
            totalBytes: totalBytes,
            bytesPerSecond: rate ?? 0,
            estimatedTimeRemaining: timeRemaining,
            attempt: max(1, attempt)
        )
    }

    private var timeRemaining: Duration? {
        guard let totalBytes, let rate, rate > 0 else { return nil }
        let seconds = Double(totalBytes - bytes) / rate
        // Beyond a few centuries a duration could not hold it, and nobody waits for it.
        return seconds < 1e10 ? .seconds(seconds) : nil
    }

    /// An exponential moving average, so that one slow second shows and is then forgotten.
    private mutating func measureRate(at now: Instant) {
        let elapsed = (now - last.at) / .seconds(1)
        guard elapsed > 0, bytes >= last.bytes else { return }
        let current = Double(bytes - last.bytes) / elapsed
        if let rate {
            let weight = elapsed / (elapsed + Self.memory)
            self.rate = rate + (current - rate) * weight
        } else {
            rate = current
        }
        last = (bytes, now)
    }
}
