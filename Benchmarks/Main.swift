import Foundation

/// Measures uploads, mostly against other ways to do the same: `swift run -c release Benchmarks help`.
///
/// What is compared takes turns, so that a slow moment of the machine hits all of it. Only the ratios mean something.
@main
struct Main {
    static func main() async {
        guard let scenario = Scenario(Array(CommandLine.arguments.dropFirst())) else {
            complain(Scenario.usage)
            exit(2)
        }
        do {
            try await scenario.run()
        } catch {
            complain("Benchmarks: \(error)\n")
            exit(1)
        }
    }

    private static func complain(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }
}
