import AsyncUpload
import Foundation

/// Uploads that run together, with one report of their progress.
struct Batch: Sendable {
    /// How long uploads that were stopped have to save where they were, or to have the server remove what nobody goes on
    /// with.
    private static let timeToSettle: Duration = .seconds(3)

    let jobs: [Job]
    let reporter: ProgressReporter
    /// With `-v` only.
    private let log: ActivityLog?
    private let tasks: [UploadTask]
    private let uploader: Uploader
    private let state: StateFolder?

    /// Starts the uploads.
    ///
    /// - Parameter state: where checkpoints are kept; `nil`: only for as long as the process lives.
    init(_ jobs: [Job], options: Options, style: ProgressReporter.Style, state: StateFolder? = nil) {
        let jobs = Self.distinguished(jobs)
        let resumed = ResumedUploads()
        let log = options.isVerbose && !options.isSilent ? ActivityLog(jobs) : nil
        var configuration = options.configuration
        if log != nil || jobs.contains(where: { $0.resuming != nil }) {
            configuration.onActivity = { activity in
                resumed.note(activity)
                log?.note(activity)
            }
        }
        configuration.checkpointStore = state
        let uploader = Uploader(configuration: configuration)
        let tasks = jobs.map { job in
            job.resuming.map { uploader.task(for: job.request, from: job.body, resuming: $0) }
                ?? uploader.task(for: job.request, from: job.body)
        }
        self.jobs = jobs
        self.log = log
        self.uploader = uploader
        self.tasks = tasks
        self.state = state
        reporter = ProgressReporter(style: style, jobs, tasks, resumed: resumed)
    }

    /// Uploads to the same URL are told apart by the fragment, which no server gets to see.
    private static func distinguished(_ jobs: [Job]) -> [Job] {
        var seen: Set<URL> = []
        return jobs.enumerated().map { index, job in
            guard let url = job.request.url, !seen.insert(url).inserted else { return job }
            var job = job
            job.request.url = URL(string: "\(url.absoluteString)#\(index)")
            return job
        }
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
                    // Nobody else could: without a folder for checkpoints all is forgotten with the process.
                    return (index, await Outcome(of: task, removesRemote: state == nil))
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
        if jobs.contains(where: { $0.resuming != nil }), outcomes.contains(where: { $0.exitStatus == .interrupted }) {
            await settle()
            if let log { await reporter.write(log) }
        }
        return outcomes
    }

    /// The current task has been cancelled; nothing in it would wait.
    private func settle() async {
        let (ends, end) = AsyncStream<Void>.makeStream()
        await Task { [uploader] in
            let work = [
                Task {
                    await uploader.shutDown(.cancelling)
                    end.yield()
                },
                Task {
                    try? await Task.sleep(for: Self.timeToSettle)
                    end.yield()
                },
            ]
            _ = await ends.first { _ in true }
            for task in work { task.cancel() }
        }.value
    }

    /// Of a single upload it is known exactly.
    private func duration(_ outcomes: [Outcome]) -> Duration? {
        guard outcomes.count == 1, case .accepted(let response) = outcomes[0] else { return nil }
        return response.metrics.duration
    }
}
