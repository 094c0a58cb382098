import Foundation
import LoopbackServer

/// Runs every contestant in turn and prints medians and ratios.
struct Comparison {
    let byteCount: Int
    let rounds: Int

    func run() throws {
        let server = try LoopbackServer()
        server.route("PUT", "/*", LoopbackServer.sink)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("Benchmarks-\(UUID().uuidString)")
        guard FileManager.default.createFile(atPath: file.path, contents: nil) else {
            throw CocoaError(.fileWriteUnknown)
        }
        defer { try? FileManager.default.removeItem(at: file) }
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: UInt64(byteCount))
        try handle.close()

        print("One file of \(byteCount >> 20) MiB to a server on this machine, \(rounds) rounds, medians.\n")
        var usages: [Contestant: [ProcessUsage]] = [:]
        for _ in 0..<rounds {
            for contestant in Contestant.allCases {
                let usage = try ProcessUsage(running: [contestant.rawValue, file.path, server.url("/").absoluteString])
                usages[contestant, default: []].append(usage)
            }
        }
        guard server.requests.allSatisfy({ $0.bodyByteCount == Int64(byteCount) }) else {
            throw CocoaError(.fileReadCorruptFile)
        }
        report(usages)
    }

    private func report(_ usages: [Contestant: [ProcessUsage]]) {
        print(row("", "MB/s", "CPU s", "peak MiB", "speed", "CPU"))
        guard let reference = usages[.foundation] else { return }
        for contestant in Contestant.allCases {
            guard let own = usages[contestant] else { continue }
            print(
                row(
                    contestant.rawValue,
                    format(Double(byteCount) / 1e6 / median(own.map(\.seconds)), 0),
                    format(median(own.map(\.processorSeconds)), 2),
                    format(median(own.map { Double($0.peakResidentSize) }) / 1_048_576, 0),
                    // Round by round, so that each ratio is of two runs made one after the other.
                    "x " + format(median(zip(reference, own).map { $0.seconds / $1.seconds }), 1),
                    "x " + format(median(zip(own, reference).map { $0.processorSeconds / $1.processorSeconds }), 2)
                )
            )
        }
        print("\nRatios are to \(Contestant.foundation.rawValue), the median of \(rounds) pairs.")
        for contestant in Contestant.allCases { print("\(contestant.rawValue): \(contestant.explanation)") }
    }

    private func row(_ cells: String...) -> String {
        cells.enumerated().map { index, cell in
            let padding = String(repeating: " ", count: max(0, 12 - cell.count))
            return index == 0 ? cell + padding : padding + cell
        }.joined()
    }

    private func format(_ value: Double, _ digits: Int) -> String {
        String(format: "%.\(digits)f", value)
    }

    private func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        guard let upper = sorted.dropFirst(sorted.count / 2).first else { return .nan }
        return sorted.count % 2 == 1 ? upper : (upper + sorted[sorted.count / 2 - 1]) / 2
    }
}
