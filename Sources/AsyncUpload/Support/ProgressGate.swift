/// Decides which byte counts are worth an event, so that a fast transfer does not drown its reader.
///
/// Lets a count through if it is the first or the last one, or if 0.5 % of the body or 50 ms have gone by
/// since the last one that passed.
struct ProgressGate {
    typealias Instant = SuspendingClock.Instant

    static let interval: Duration = .milliseconds(50)
    static let steps: Int64 = 200

    private let total: Int64?
    private var last: (bytes: Int64, at: Instant)?

    /// - Parameter total: the length of the body; `nil` when it is not known.
    init(total: Int64?) {
        self.total = total
    }

    mutating func passes(_ bytes: Int64, at now: Instant) -> Bool {
        guard isWorthTelling(bytes, at: now) else { return false }
        last = (bytes, now)
        return true
    }

    /// Whether that is the last count that has passed, or there is nothing to tell of.
    func hasPassed(_ bytes: Int64) -> Bool {
        (last?.bytes ?? 0) == bytes
    }

    private func isWorthTelling(_ bytes: Int64, at now: Instant) -> Bool {
        guard let last else { return true }
        guard bytes != last.bytes else { return false }
        if bytes == total || bytes < last.bytes || now - last.at >= Self.interval { return true }
        guard let total else { return false }
        return bytes - last.bytes >= max(1, total / Self.steps)
    }
}
