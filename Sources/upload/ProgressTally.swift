import AsyncUpload

/// Makes one bar of the uploads' snapshots. Pure: the time comes in from outside.
struct ProgressTally {
    typealias Instant = ContinuousClock.Instant

    /// How an upload has ended.
    enum End: Equatable {
        case accepted, failed, stopped
    }

    /// How much of the past the rate looks at: long enough to be readable, short enough to show a stall.
    static let memory: Duration = .seconds(3)

    private let labels: [String]
    /// The bodies' sizes as far as they are known beforehand.
    private let sizes: [Int64?]
    private let start: Instant
    private var ends: [Int: End] = [:]
    private var lastSent: [Int64]
    private var resumed: Set<Int> = []
    /// How much of those was there already.
    private var bases: [Int: Int64] = [:]
    /// All bytes that went out, those of redirected requests included.
    private var moved: Int64 = 0
    private var history: [(at: Instant, moved: Int64)]

    init(labels: [String], sizes: [Int64?], at now: Instant) {
        self.labels = labels
        self.sizes = sizes
        start = now
        lastSent = Array(repeating: 0, count: labels.count)
        history = [(now, 0)]
    }

    mutating func ended(_ index: Int, _ end: End) {
        ends[index] = end
    }

    /// The upload goes on with what was sent before.
    mutating func resumed(_ index: Int) {
        resumed.insert(index)
    }

    /// The bar for these snapshots, one for each upload.
    mutating func bar(_ snapshots: [UploadProgress], at now: Instant) -> ProgressBar {
        for (index, snapshot) in snapshots.enumerated() {
            let sent = snapshot.bytesSent
            // What was there before comes first, and all at once.
            if sent > 0, resumed.contains(index), bases[index] == nil {
                (bases[index], lastSent[index]) = (sent, sent)
            }
            // A request that starts over counts from 0.
            moved = moved.adding(sent >= lastSent[index] ? sent - lastSent[index] : sent)
            lastSent[index] = sent
        }
        let rate = measuredRate(at: now)
        let isWaiting = snapshots.indices.allSatisfy { ends[$0] != nil || isHandedOver(snapshots[$0]) }
        let ending: ProgressBar.Ending = isWaiting ? .waiting : .remaining(timeLeft(snapshots, rate: rate))
        return bar(snapshots, rate: rate, ending: retryEnding(snapshots) ?? ending)
    }

    /// The fraction alone does not tell: it stays where it was while a body is sent again.
    private func isHandedOver(_ snapshot: UploadProgress) -> Bool {
        snapshot.fraction >= 1 && snapshot.bytesSent >= snapshot.totalBytes ?? 0
    }

    /// `nil` unless an upload waits before another attempt.
    private func retryEnding(_ snapshots: [UploadProgress]) -> ProgressBar.Ending? {
        let waiting = snapshots.indices.filter { ends[$0] == nil && snapshots[$0].retryingIn != nil }
        guard let first = waiting.first, let rest = snapshots[first].retryingIn else { return nil }
        guard labels.count == 1 else { return .someRetrying(waiting.count) }
        return .retrying(in: rest, reason: snapshots[first].retryReason)
    }

    /// The bar that stays; `nil` if all failed before anything was sent, for which the errors' lines are enough.
    ///
    /// - Parameter duration: how long it took, where that is known better than by the time since the start.
    func finalBar(_ snapshots: [UploadProgress], took duration: Duration?, at now: Instant) -> ProgressBar? {
        let failures = count(of: .failed)
        guard failures < labels.count || snapshots.contains(where: { $0.bytesSent > 0 }) else { return nil }
        let duration = duration ?? (now - start)
        let seconds = duration / .seconds(1)
        let sent = snapshots.reduce(Int64(0)) { $0.adding($1.bytesSent) }
        let ending: ProgressBar.Ending =
            if ends.values.contains(.stopped) || ends.count < labels.count {
                .note("stopped")
            } else if failures > 0 {
                .note(labels.count > 1 ? Self.note(failures) : "failed")
            } else {
                .took(duration)
            }
        let moved = max(0, sent - bases.values.reduce(0) { $0.adding($1) })
        return bar(snapshots, rate: seconds > 0 ? Double(moved) / seconds : 0, ending: ending)
    }

    private func bar(_ snapshots: [UploadProgress], rate: Double, ending: ProgressBar.Ending) -> ProgressBar {
        let total = total(snapshots)
        let sent = snapshots.reduce(Int64(0)) { $0.adding($1.bytesSent) }
        return ProgressBar(
            label: label(for: ending),
            keepsLabel: labels.count != 1,
            fraction: fraction(snapshots, of: total),
            sent: min(sent, total ?? .max),
            total: total,
            bytesPerSecond: rate,
            ending: ending
        )
    }

    /// With several files: how many are done, and how many failed unless that stands at the end of the line.
    private func label(for ending: ProgressBar.Ending) -> String {
        guard labels.count != 1 else { return labels[0] }
        let done = "\(count(of: .accepted)) of \(labels.count) files"
        let failures = count(of: .failed)
        guard failures > 0, ending != .note(Self.note(failures)) else { return done }
        return "\(done), \(Self.note(failures))"
    }

    private static func note(_ failures: Int) -> String { "\(failures) failed" }

    private func count(of end: End) -> Int {
        ends.values.count { $0 == end }
    }

    private func size(of index: Int, _ snapshot: UploadProgress) -> Int64? {
        snapshot.totalBytes ?? sizes[index]
    }

    /// `nil` as soon as one of the sizes is not known.
    private func total(_ snapshots: [UploadProgress]) -> Int64? {
        snapshots.indices.reduce(Int64(0)) { sum, index in
            size(of: index, snapshots[index]).flatMap { sum?.adding($0) }
        }
    }

    private func fraction(_ snapshots: [UploadProgress], of total: Int64?) -> Double {
        // It does not go back while a body is sent again; the bytes beside it tell how far that is.
        let done = snapshots.indices.reduce(0.0) {
            $0 + Double(size(of: $1, snapshots[$1]) ?? 0) * snapshots[$1].fraction
        }
        let isComplete =
            done >= Double(total ?? 0) && snapshots.contains { $0.fraction >= 1 }
            && snapshots.indices.allSatisfy { snapshots[$0].fraction >= 1 || ends[$0] == .failed }
        if isComplete { return 1 }
        guard let total, total > 0 else { return 0 }
        return min(done / Double(total), 0.999)
    }

    private func timeLeft(_ snapshots: [UploadProgress], rate: Double) -> Duration? {
        var left = 0.0
        for index in snapshots.indices where ends[index] == nil {
            guard let size = size(of: index, snapshots[index]) else { return nil }
            left += Double(max(0, size - snapshots[index].bytesSent))
        }
        return rate > 0 && left / rate < 1e9 ? .seconds(left / rate) : nil
    }

    private mutating func measuredRate(at now: Instant) -> Double {
        history.append((now, moved))
        while history.count > 2, now - history[1].at >= Self.memory { history.removeFirst() }
        let seconds = (now - history[0].at) / .seconds(1)
        return seconds > 0 ? Double(moved - history[0].moved) / seconds : 0
    }
}

extension Int64 {
    /// The sum, or the largest number there is: files can have sizes whose sum is beyond it.
    fileprivate func adding(_ other: Int64) -> Int64 {
        let (sum, hasOverflowed) = addingReportingOverflow(other)
        return hasOverflowed ? .max : sum
    }
}
