import AsyncUpload

/// Uploads that run together, with one report of their progress.
struct Batch: Sendable {
    let jobs: [Job]
    let reporter: ProgressReporter
    /// With `-v` only.
    private let log: ActivityLog?
    private let tasks: [UploadTask]
    private let uploader: Uploader

    /// Starts the uploads.
    init(_ jobs: [Job], options: Options, style: ProgressReporter.Style) {
        let log = options.isVerbose && !options.isSilent ? ActivityLog(jobs) : nil
        var configuration = options.configuration
        if let log { configuration.onActivity = log.note }
        let uploader = Uploader(configuration: configuration)
        let tasks = jobs.map { uploader.task(for: $0.request, from: $0.body) }
        self.jobs = jobs
        self.log = log
        self.uploader = uploader
        self.tasks = tasks
        reporter = ProgressReporter(style: style, labels: jobs.map(\.label), sizes: jobs.map(\.size), tasks: tasks)
    }

    /// Waits for all uploads. Cancelling the current task stops them.
    ///
    /// - Parameter onEnd: called for each upload as it ends.
    /// - Returns: how they ended, in the order of the jobs.
    func run(onEnd: (Int, Outcome) async -> Void) async -> [Outcome] {
        var outcomes = Array(repeating: Outcome.interrupted, count: jobs.count)
        if log != nil { for job in jobs { await reporter.write(VerboseLog.start(job)) } }
        await withTaskGroup(of: (Int, Outcome)?.self) { group in
            group.addTask {
                await reporter.keepDrawing()
                return nil
            }
            if let log {
                group.addTask {
                    for await _ in log.news { await reporter.write(log) }
                    return nil
                }
            }
            for (index, task) in tasks.enumerated() {
                group.addTask {
                    await reporter.follow(index)
                    return (index, await Outcome(of: task))
                }
            }
            var left = jobs.count
            while left > 0, let end = await group.next() {
                guard let (index, outcome) = end else { continue }
                left -= 1
                outcomes[index] = outcome
                await reporter.ended(index, outcome)
                // What is written next stands below the line that stays.
                if left == 0 { await reporter.finish(took: duration(outcomes)) }
                if let log {
                    await reporter.write(log)
                    for line in VerboseLog.end(outcome, of: jobs[index]) { await reporter.write(line) }
                }
                await onEnd(index, outcome)
            }
            group.cancelAll()
        }
        return outcomes
    }

    /// Of a single upload it is known exactly.
    private func duration(_ outcomes: [Outcome]) -> Duration? {
        guard outcomes.count == 1, case .accepted(let response) = outcomes[0] else { return nil }
        return response.metrics.duration
    }
}
