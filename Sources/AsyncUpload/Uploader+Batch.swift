public import Foundation

/// One of several uploads.
public struct UploadItem: Sendable {
    /// Where to and how.
    public var request: URLRequest
    /// What to send.
    public var body: UploadBody

    /// Describes an upload of a body.
    public init(for request: URLRequest, from body: UploadBody) {
        self.request = request
        self.body = body
    }

    /// Describes an upload of a file.
    public init(for request: URLRequest, fromFile fileURL: URL) {
        self.init(for: request, from: .file(fileURL))
    }
}

/// How far several uploads have come together: a snapshot.
public struct CombinedProgress: Sendable, Equatable {
    /// The part of all bodies that has been handed over to the network, in `0...1`; what has failed counts as done.
    ///
    /// It never decreases, and is 1 at the end. Each body counts as much as it is long, or all of them the same while a length
    /// is not known.
    public var fraction: Double
    /// How many bytes of the bodies have been handed over.
    public var bytesSent: Int64
    /// The length of all bodies in bytes; `nil` when that of one is not known.
    public var totalBytes: Int64?
    /// How many uploads have ended with an accepted response.
    public var completedCount: Int
    /// How many uploads have failed, or were cancelled.
    public var failedCount: Int
    /// How many uploads there are.
    public var totalCount: Int
}

extension Uploader {
    /// Uploads several bodies, a few at a time, and waits for all of them.
    ///
    /// An upload is started when one before it has ended, so that any number of them can be given. What fails does not stop
    /// the others unless that is asked for. Cancelling the current task cancels what is under way; what has been
    /// accepted before is in the results all the same.
    ///
    /// - Parameters:
    ///   - items: what to upload, begun about in this order.
    ///   - limit: how many are under way at a time; `nil` for ``maximumUploadsInFlight``, which is never exceeded.
    ///   - stoppingAtFirstFailure: whether a failure cancels the others; they fail with `CancellationError`.
    ///   - onProgress: called in order with newer snapshots, and with the last one before this function returns; never after
    ///     that. One that takes its time misses what is in between.
    /// - Returns: the result of each item, in their order: a response, or ``UploadError`` or `CancellationError`.
    public func uploadAll(
        _ items: [UploadItem],
        limit: Int? = nil,
        stoppingAtFirstFailure: Bool = false,
        onProgress: (@Sendable (CombinedProgress) -> Void)? = nil
    ) async -> [Result<UploadResponse, any Error>] {
        let tally = Locked(CombinedTally(lengths: onProgress == nil ? items.map { _ in nil } : items.map(\.length)))
        let (changes, change) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        async let reporting: Void = {
            for await _ in changes { onProgress?(tally.withLock(\.progress)) }
        }()
        let results = await run(
            items,
            atMost: limit ?? max(Self.startedAtOnce, maximumUploadsInFlight),
            stoppingAtFirstFailure
        ) {
            index,
            news in
            tally.withLock { $0.note(news, of: index) }
            change.yield()
        }
        change.finish()
        await reporting
        onProgress?(tally.withLock(\.progress))
        return results
    }

    /// How many are begun unless there is a limit; ``maximumUploadsInFlight`` says how many of them are under way. If there were
    /// no more, those that wait for a busy server would hold up those for other servers.
    private static let startedAtOnce = 1000

    private func run(
        _ items: [UploadItem],
        atMost limit: Int,
        _ stopsAtFirstFailure: Bool,
        _ note: @escaping @Sendable (Int, CombinedTally.News) -> Void
    ) async -> [Result<UploadResponse, any Error>] {
        typealias Ended = (index: Int, result: Result<UploadResponse, any Error>)
        return await withTaskGroup(of: Ended.self) { group in
            var results = items.map { _ in Result<UploadResponse, any Error>.failure(CancellationError()) }
            var next = 0
            func startNext() {
                guard next < items.count else { return }
                let index = next
                next += 1
                group.addTask { (index, await self.result(of: items[index]) { note(index, .progress($0)) }) }
            }
            for _ in 0..<min(max(1, limit), items.count) { startNext() }
            while let (index, result) = await group.next() {
                results[index] = result
                note(index, .end(result.isSuccess))
                if stopsAtFirstFailure, !result.isSuccess { group.cancelAll() }
                startNext()
            }
            return results
        }
    }

    /// In a cancelled task nothing is started.
    private func result(
        of item: UploadItem,
        onProgress: @Sendable (UploadProgress) -> Void
    ) async -> Result<UploadResponse, any Error> {
        do {
            return .success(try await upload(for: item.request, from: item.body, onProgress: onProgress))
        } catch {
            return .failure(error)
        }
    }
}

extension UploadItem {
    /// In bytes; `nil` when it is not known, or nothing can be sent.
    fileprivate var length: Int64? { (try? body.open())?.length }
}

extension Result {
    fileprivate var isSuccess: Bool {
        if case .success = self { true } else { false }
    }
}

/// Adds up how far several uploads have come.
struct CombinedTally: Sendable {
    enum News: Sendable {
        case progress(UploadProgress)
        case end(_ isSuccess: Bool)
    }

    private var items: [(fraction: Double, bytesSent: Int64, weight: Double)]
    private(set) var progress: CombinedProgress
    private let totalWeight: Double
    private var fractions = 0.0

    /// - Parameter lengths: in bytes; `nil` where one is not known.
    init(lengths: [Int64?]) {
        let total = lengths.reduce(0 as Int64?) { sum, length in
            guard let sum, let length else { return nil }
            let (total, isTooLarge) = sum.addingReportingOverflow(length)
            return isTooLarge ? nil : total
        }
        let weighs = total.map { $0 > 0 } ?? false
        items = lengths.map { (0, 0, weighs ? Double($0 ?? 0) : 1) }
        totalWeight = items.reduce(0) { $0 + $1.weight }
        progress = CombinedProgress(
            fraction: lengths.isEmpty ? 1 : 0,
            bytesSent: 0,
            totalBytes: total,
            completedCount: 0,
            failedCount: 0,
            totalCount: lengths.count
        )
    }

    mutating func note(_ news: News, of index: Int) {
        switch news {
        case .progress(let step):
            progress.bytesSent += step.bytesSent - items[index].bytesSent
            items[index].bytesSent = step.bytesSent
            add(step.fraction, to: index)
        case .end(let isSuccess):
            if isSuccess { progress.completedCount += 1 } else { progress.failedCount += 1 }
            add(1, to: index)
        }
    }

    private mutating func add(_ fraction: Double, to index: Int) {
        fractions += max(0, fraction - items[index].fraction) * items[index].weight
        items[index].fraction = max(fraction, items[index].fraction)
        let hasEnded = progress.completedCount + progress.failedCount == progress.totalCount
        // Sums of fractions are not exact.
        progress.fraction = hasEnded ? 1 : max(progress.fraction, min(fractions / totalWeight, 1))
    }
}
