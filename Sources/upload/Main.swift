import Foundation

@main
struct Main {
    static func main() async {
        Platform.ignoreBrokenPipes()
        switch Arguments.parse(Array(CommandLine.arguments.dropFirst())) {
        case .failure(let error):
            StandardStream.error.write(error.line + "\n")
            exit(ExitStatus.usage.rawValue)
        case .success(let command):
            let interruption = Interruption()
            let work = Task { await command.run() }
            interruption.onFirst { work.cancel() }
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
        case .send(let files, let options): await Runner(files: files, options: options).run()
        }
    }
}
