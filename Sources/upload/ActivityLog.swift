import AsyncUpload
import Foundation

/// Keeps what happens to uploads until it can be written: it is told on any thread, in a moment in which the upload does not
/// go on.
// `lock` protects what is variable.
final class ActivityLog: @unchecked Sendable {
    /// Has a value when there are lines.
    let news: AsyncStream<Void>
    private let more: AsyncStream<Void>.Continuation
    /// What the uploads are called. No two of them go to the same URL.
    private let labels: [URL: String]
    private let lock = NSLock()
    private var lines: [String] = []
    /// How many requests each upload has sent.
    private var counts: [Int: Int] = [:]

    init(_ jobs: [Job]) {
        (news, more) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        let names = jobs.compactMap { job in job.request.url.map { ($0, job.label) } }
        labels = Dictionary(names, uniquingKeysWith: { first, _ in first })
    }

    func note(_ activity: UploadActivity) {
        let label = activity.url.flatMap { labels[$0] } ?? "\(activity.uploadIdentifier)"
        let line = lock.withLock { () -> String? in
            if case .transaction = activity.event { counts[activity.uploadIdentifier, default: 0] += 1 }
            let number = counts[activity.uploadIdentifier, default: 0]
            guard let line = VerboseLog.line(activity.event, label: label, number: number) else { return nil }
            lines.append(line)
            return line
        }
        if line != nil { more.yield() }
    }

    /// The lines that have not been taken before.
    func takeLines() -> [String] {
        lock.withLock {
            defer { lines = [] }
            return lines
        }
    }
}
