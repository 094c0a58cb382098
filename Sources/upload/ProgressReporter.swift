import AsyncUpload
import Foundation

/// Tells on standard error how far the uploads are. All lines that appear there while they run go through it, so that
/// none ends up in the middle of the bar.
actor ProgressReporter {
    enum Style: Equatable, Sendable {
        case none
        /// Redrawn in place while `isLive`; otherwise only the line that stays.
        case bar(isLive: Bool)
        case json
    }

    /// How long a drawing stays.
    static let interval: Duration = .milliseconds(100)

    let style: Style
    private let tasks: [UploadTask]
    private let jobs: [Job]
    private let resumed: ResumedUploads
    private let labels: [String]
    private var tally: ProgressTally
    private let unicode = Platform.usesUnicode
    /// Where it is none, every drawing stays for good.
    private let isTerminal = Platform.isTerminal(STDERR_FILENO)
    /// Columns that the bar on the screen takes.
    private var drawn = 0
    /// What is drawn there.
    private var lastLine: String?
    private var lastEnding: ProgressBar.Ending?
    private var isFinished = false

    init(style: Style, _ jobs: [Job], _ tasks: [UploadTask], resumed: ResumedUploads = ResumedUploads()) {
        self.style = style
        self.jobs = jobs
        self.tasks = tasks
        self.resumed = resumed
        labels = jobs.map(\.label)
        tally = ProgressTally(labels: labels.map(FilePath.name), sizes: jobs.map(\.size), at: .now)
    }

    /// Keeps the bar up to date until the current task is cancelled.
    func keepDrawing() async {
        guard style == .bar(isLive: true) else { return }
        while !Task.isCancelled, !isFinished {
            for index in jobs.indices where resumed.contains(jobs[index]) { tally.resumed(index) }
            let bar = tally.bar(tasks.map(\.currentProgress), at: .now)
            if isTerminal || !bar.ending.continues(lastEnding) { draw(bar) }
            try? await Task.sleep(for: Self.interval)
        }
    }

    /// Tells the progress of one upload, line by line, until it ends.
    func follow(_ index: Int) async {
        guard style == .json else { return }
        for await progress in tasks[index].progress {
            // Before its turn there is nothing to tell.
            let isUnderWay = progress.totalBytes != nil || progress.bytesSent > 0 || progress.fraction > 0
            guard isUnderWay || progress.retryingIn != nil else { continue }
            StandardStream.error.write(JSONLine.progress(file: labels[index], progress))
        }
    }

    func ended(_ index: Int, _ outcome: Outcome) {
        tally.ended(index, outcome.end)
        guard style == .json else { return }
        let attempt = tasks[index].currentProgress.attempt
        StandardStream.error.write(JSONLine.end(file: labels[index], outcome, attempt: attempt))
    }

    /// Draws the line that stays.
    func finish(took duration: Duration?) {
        isFinished = true
        guard case .bar = style else { return }
        guard let bar = tally.finalBar(tasks.map(\.currentProgress), took: duration, at: .now) else { return clear() }
        draw(bar)
        StandardStream.error.write("\n")
        drawn = 0
    }

    /// Writes a line of its own.
    func write(_ text: String) {
        clear()
        StandardStream.error.write(text + "\n")
    }

    /// Writes what has been noted since the last time. It is taken here, so that no line overtakes another.
    func write(_ log: ActivityLog) {
        for line in log.takeLines() { write(line) }
    }

    /// Takes the bar from the screen, for what is written there next.
    func clear() {
        guard drawn > 0 else { return }
        StandardStream.error.write("\r" + String(repeating: " ", count: drawn) + "\r")
        drawn = 0
        (lastLine, lastEnding) = (nil, nil)
    }

    private func draw(_ bar: ProgressBar) {
        // In the last column some terminals would begin a new line.
        let line = bar.line(width: Platform.terminalWidth - 1, unicode: unicode)
        lastEnding = bar.ending
        guard line != lastLine else { return }
        lastLine = line
        let width = SafeText.width(of: line)
        let isLive = style == .bar(isLive: true)
        let rest = String(repeating: " ", count: max(0, drawn - width))
        StandardStream.error.write(isLive ? "\r" + line + rest : line)
        drawn = width
    }
}
