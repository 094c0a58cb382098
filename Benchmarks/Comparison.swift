import Foundation

/// Sends one file with every contestant in turn, each time in a new process, and prints medians and ratios.
struct Comparison {
    let byteCount: Int
    let rounds: Int

    func run() async throws {
        print("One file of \(byteCount >> 20) MiB to a server on this machine, \(rounds) rounds, medians.\n")
        let usages = try await TemporaryFiles.withOne(of: byteCount) { file in
            try await Rounds(rounds, of: Contestant.allCases) { contestant in
                try await CheckedServer.receive(1, of: byteCount) { url in
                    try ProcessUsage(
                        running: CommandLine.arguments[0],
                        [contestant.rawValue, file.path, url.absoluteString]
                    )
                }
            }
        }
        report(usages)
    }

    private func report(_ usages: Rounds<Contestant, ProcessUsage>) {
        let table = Table(widths: [11, 8, 8, 8, 20, 20])
        table.printRow("", "MB/s", "CPU s", "peak MiB", "speed", "CPU")
        for contestant in Contestant.allCases {
            table.printRow(
                contestant.rawValue,
                (Double(byteCount) / 1e6 / usages.spread(of: contestant, \.seconds).median).text(0),
                usages.spread(of: contestant, \.processorSeconds).median.text(2),
                usages.spread(of: contestant, \.peakMebibytes).median.text(0),
                "x " + usages.ratio(of: .foundation, to: contestant, \.seconds).text(1),
                "x " + usages.ratio(of: contestant, to: .foundation, \.processorSeconds).text(2)
            )
        }
        print("\nRatios are to \(Contestant.foundation.rawValue), the median of \(rounds) pairs (least..most).")
        for contestant in Contestant.allCases { print("\(contestant.rawValue): \(contestant.explanation)") }
    }
}
