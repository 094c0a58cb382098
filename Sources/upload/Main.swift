import Foundation

@main
struct Main {
    static func main() async {
        StandardStream.holdPlaces()
        Platform.ignoreBrokenPipes()
        switch Arguments.parse(Array(CommandLine.arguments.dropFirst())) {
        case .failure(let error):
            StandardStream.error.write(error.line + "\n")
            exit(ExitStatus.usage.rawValue)
        case .success(let command):
            let (start, started) = AsyncStream<Never>.makeStream()
            // Nothing is made that a signal could leave behind before signals are taken care of.
            let work = Task {
                for await _ in start {}
                return await command.run()
            }
            let interruption = try? Interruption { work.cancel() }
            started.finish()
            let status = await work.value
            withExtendedLifetime(interruption) {}
            // What is cancelled may still be winding down on other threads: nothing of the process is taken apart then.
            if status == .interrupted { _exit(status.rawValue) }
            exit(status.rawValue)
        }
    }
}

extension Command {
    /// Carries the command out.
    func run() async -> ExitStatus {
        switch self {
        case .help: StandardStream.output.write(HelpText.text) == 0 ? .success : .outputFailed
        case .version: StandardStream.output.write("upload \(HelpText.version)\n") == 0 ? .success : .outputFailed
        case .demo(let file, let options): await Demo(file: file, options: options).run()
        case .send(let sources, let options): await Runner(sources: sources, options: options).run()
        }
    }
}
