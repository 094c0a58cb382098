import Foundation

/// Compares ways to upload a file, side by side: `swift run -c release Benchmarks [MiB] [rounds]`.
///
/// Each contestant runs in a process of its own, in turn, so that its CPU time and memory are its own and a slow moment
/// of the machine hits all of them. Only the ratios mean something.
@main
struct Main {
    static func main() async throws {
        let arguments = CommandLine.arguments
        if arguments.count == 4, let contestant = Contestant(rawValue: arguments[1]),
            let url = URL(string: arguments[3])
        {
            try await contestant.upload(URL(fileURLWithPath: arguments[2]), to: url)
            return
        }
        guard arguments.count <= 3, let size = Int(arguments.dropFirst().first ?? "1024"), size > 0,
            let rounds = Int(arguments.dropFirst(2).first ?? "3"), rounds > 0
        else {
            FileHandle.standardError.write(Data("usage: Benchmarks [MiB] [rounds]\n".utf8))
            exit(2)
        }
        try Comparison(byteCount: size << 20, rounds: rounds).run()
        let latencies = try await CancelLatency.measure(rounds: 20).sorted()
        let texts = [latencies[latencies.count / 2], latencies[latencies.count - 1]].map { String(format: "%.1f", $0) }
        print(
            "\nFrom cancelling to the end of the connection: \(texts[0]) ms (median of 20), \(texts[1]) ms (longest)."
        )
    }
}
