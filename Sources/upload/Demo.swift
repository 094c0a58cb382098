import AsyncUpload
import Foundation
import LoopbackServer

/// Sends a file to a server in this process, which compares what arrives with the file, byte for byte.
struct Demo {
    let file: String?
    let options: Options

    func run() async -> ExitStatus {
        let server: LoopbackServer
        do {
            server = try LoopbackServer()
        } catch {
            return fail("the embedded server", "It could not be started: \(error)", .cannotConnect)
        }
        defer { server.stop() }
        if file == nil { say("Making \(Quantity.bytes(Int64(DemoFile.generatedSize))) of test data.") }
        let subject: DemoFile
        do {
            subject = try file.map(DemoFile.init) ?? DemoFile(generating: DemoFile.generatedSize)
        } catch let error as SystemError {
            let what = "The test data could not be written: \(error.message)"
            return fail("demo.bin", what, advice: "Make room in the temporary folder, or set TMPDIR", .sourceFailed)
        } catch {
            return interrupted()
        }
        defer { subject.remove() }
        server.route(nil, "*", Self.comparing(with: subject.path))
        return await send(subject, to: server)
    }

    private func send(_ subject: DemoFile, to server: LoopbackServer) async -> ExitStatus {
        guard let url = try? Destination(server.url().absoluteString).url(forFile: subject.label) else {
            return fail(subject.label, "The name cannot be sent", .usage)
        }
        let source = Source(content: .file(subject.path), url: url)
        let job = Job(source, .file(subject.path), options, label: subject.label)
        say("Sending \(subject.label) (\(Quantity.bytes(job.size ?? 0))) to \(url.absoluteString),")
        say("an embedded server that compares every byte with the file.")
        say("Your own: upload FILE URL. All options: upload --help.")
        let outcome = await Batch([job], options: options, style: style).run { _, _ in }[0]
        switch outcome {
        case .accepted(let response): return verified(response, label: subject.label)
        case .failed(let error):
            guard error.code == .unacceptableStatus, let response = error.response else {
                return fail(ErrorLine.text(label: subject.label, error, path: subject.path), ExitStatus(error))
            }
            return fail(subject.label, response.text(), .sendingFailed)
        case .interrupted: return interrupted()
        }
    }

    /// The server answers with the number of bytes if all are equal, and refuses the upload otherwise.
    static func comparing(with path: String) -> LoopbackServer.Handler {
        { exchange in
            let comparison = try ByteComparison(path: path)
            try exchange.readBody { comparison.take($0) }
            switch comparison.finish() {
            case .equal(let count): try exchange.respond(200, body: "\(count)")
            case .different(let offset): try exchange.respond(422, body: "Not equal: byte \(offset) differs")
            }
        }
    }

    private func verified(_ response: UploadResponse, label: String) -> ExitStatus {
        guard let count = Int64(response.text()), count == response.metrics.bytesSent else {
            return fail(label, "The server has not compared all bytes", .sendingFailed)
        }
        let seconds = response.metrics.duration / .seconds(1)
        let rate = seconds > 0 ? Double(count) / seconds / 1e6 : 0
        let line = "verified: \(count) bytes equal, \(Int(rate.rounded())) MB/s\n"
        return StandardStream.output.write(line) == 0 ? .success : .outputFailed
    }

    private var style: ProgressReporter.Style {
        if options.isSilent { return .none }
        return switch options.progress ?? .bar {
        case .bar: .bar(isLive: options.progress == .bar || Platform.isTerminal(STDERR_FILENO))
        case .json: .json
        case .none: .none
        }
    }

    // MARK: Words

    private func say(_ text: String) {
        if !options.isSilent { StandardStream.output.write(SafeText.escaped(text) + "\n") }
    }

    private func interrupted() -> ExitStatus {
        fail(ErrorLine.interrupted, .interrupted)
    }

    private func fail(_ label: String, _ what: String, advice: String? = nil, _ status: ExitStatus) -> ExitStatus {
        fail(ErrorLine.text(label: label, what: what, advice: advice), status)
    }

    private func fail(_ line: String, _ status: ExitStatus) -> ExitStatus {
        if !options.isSilent, options.progress != .json { StandardStream.error.write(line + "\n") }
        return status
    }
}
