import Foundation

/// Measures uploads against other ways to do the same: `swift run -c release Benchmarks help`.
///
/// What is compared takes turns, so that a slow moment of the machine hits all of it. Only the ratios mean something.
@main
struct Main {
    static func main() async {
        do {
            try await run(try Command(Array(CommandLine.arguments.dropFirst())))
        } catch let error as UsageError {
            complain("Benchmarks: \(error)\n\(Command.usage)")
            exit(2)
        } catch {
            complain("Benchmarks: \(error)\n")
            exit(1)
        }
    }

    private static func run(_ command: Command) async throws {
        switch command {
        case .measure(let measuring): try await measuring.run()
        case .help: print(Command.usage, terminator: "")
        case .sink(let kind): try SinkServer.serveUntilInputEnds(kind)
        case .child(let child, let job, let files, let url): try await child.run(job, files, url)
        case .inner(let inner, let number): try await inner.measure(number)
        }
    }

    private static func complain(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }
}
