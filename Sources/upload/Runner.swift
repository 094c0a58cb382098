import AsyncUpload
import Foundation

/// Sends what the command line names.
struct Runner {
    let sources: [Source]
    let options: Options

    func run() async -> ExitStatus {
        if let (path, error) = unreadableFile { return fail(path, .failed(error)) }
        let output: ResponseOutput
        do {
            output = try ResponseOutput(path: options.output, includesHead: options.includesHead)
        } catch {
            report(outputError: error)
            return .outputFailed
        }
        if let label = sources.lazy.compactMap(output.overwritten).first {
            StandardStream.error.write(UsageError("-o would overwrite \(label)").line + "\n")
            return .usage
        }
        let state = options.state.map(StateFolder.init)
        do {
            try await state?.prepare()
        } catch {
            return fail(options.state ?? "", .failed(error))
        }
        var writer = OrderedWriter(output: output)
        let jobs: [Job]
        do {
            jobs = try await makeJobs()
        } catch {
            _ = writer.finish()
            guard let failure = error as? SourceFailure else { return fail(sources[0].label, .interrupted) }
            return fail(failure.label, .failed(failure.error))
        }
        let batch = Batch(jobs, options: options, style: style, state: state)
        let outcomes = await batch.run { index, outcome in
            await batch.reporter.clear()
            writer.ended(index, outcome)
        }
        let outputError = writer.finish()
        let stopped = zip(jobs, outcomes).filter { job, outcome in
            outcome.exitStatus == .interrupted && state?.keeps(job.resuming?.checkpointIdentifier) == true
        }
        return conclude(outcomes, outputError, stopped: stopped.map(\.0.label))
    }

    private var style: ProgressReporter.Style {
        if options.isSilent { return .none }
        return switch options.progress ?? (Platform.isTerminal(STDERR_FILENO) ? .bar : .none) {
        case .bar: .bar(isLive: true)
        case .json: .json
        case .none: .none
        }
    }

    // MARK: Before the upload

    /// A file of the TLS options that cannot be opened, which the transport would not say as clearly.
    private var unreadableFile: (path: String, error: UploadError)? {
        for path in [options.authorities, options.certificate, options.privateKey].compactMap(\.self) {
            let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            guard descriptor < 0 else {
                close(descriptor)
                continue
            }
            return (path, UploadError(.invalidTLSOptions, detail: SystemError(number: errno).message))
        }
        return nil
    }

    /// - Throws: `SourceFailure`, or `CancellationError` when interrupted.
    private func makeJobs() async throws -> [Job] {
        var jobs: [Job] = []
        for source in sources {
            let payload = try await source.payload(options)
            let resuming = try source.resuming(payload, options)
            jobs.append(Job(source, payload, options, resuming: resuming))
        }
        return jobs
    }

    /// Ends before anything was sent.
    private func fail(_ label: String, _ outcome: Outcome) -> ExitStatus {
        if options.progress == .json, !options.isSilent {
            StandardStream.error.write(JSONLine.end(file: label, outcome, attempt: 0))
        }
        switch outcome {
        case .failed(let error): report(ErrorLine.text(label: label, error))
        case .interrupted: report(ErrorLine.interrupted)
        case .accepted: break
        }
        return outcome.exitStatus
    }

    // MARK: After it

    /// Lists the failures and finds the status for the shell.
    ///
    /// - Parameter stopped: the labels of those that the same command goes on with.
    private func conclude(_ outcomes: [Outcome], _ outputError: SystemError?, stopped: [String]) -> ExitStatus {
        for (source, outcome) in zip(sources, outcomes) {
            if case .failed(let error) = outcome { report(ErrorLine.text(label: source.label(for: error), error)) }
        }
        if outcomes.contains(where: { $0.exitStatus == .interrupted }) {
            if stopped.isEmpty { report(ErrorLine.interrupted) }
            for label in stopped { report(ErrorLine.stopped(label: label)) }
            return .interrupted
        }
        // Who reads standard output may stop when he has seen enough: that needs no words.
        if let outputError, outputError.number != EPIPE { report(outputError: outputError) }
        return outcomes.map(\.exitStatus).first { $0 != .success } ?? (outputError == nil ? .success : .outputFailed)
    }

    private func report(outputError error: SystemError) {
        let label = options.output ?? "standard output"
        let what = "The response could not be written: \(error.message)"
        if options.progress == .json, !options.isSilent {
            StandardStream.error.write(JSONLine.error(file: label, code: "outputFailed", message: what))
        } else {
            report(ErrorLine.text(label: label, what: what, advice: options.output == nil ? nil : "Check the path"))
        }
    }

    /// With JSON the events have told it already.
    private func report(_ line: String) {
        guard !options.isSilent, options.progress != .json else { return }
        StandardStream.error.write(line + "\n")
    }
}

/// Writes the responses in the order of the command line, whichever comes first.
private struct OrderedWriter {
    let output: ResponseOutput
    private var waiting: [Int: UploadResponse?] = [:]
    private var next = 0
    private var error: SystemError?

    init(output: ResponseOutput) {
        self.output = output
    }

    mutating func ended(_ index: Int, _ outcome: Outcome) {
        waiting[index] = .some(outcome.answer)
        while let answer = waiting.removeValue(forKey: next) {
            next += 1
            guard error == nil, let answer else { continue }
            do { try output.write(answer) } catch { self.error = error }
        }
    }

    /// - Returns: the first error.
    mutating func finish() -> SystemError? {
        do { try output.finish() } catch { self.error = self.error ?? error }
        return error
    }
}
