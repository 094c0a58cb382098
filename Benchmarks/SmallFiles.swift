import Foundation

/// Many uploads through one uploader, and through one session, that stay the same from the first upload to the last.
struct SmallFiles {
    let rounds: Int
    private let asyncUpload = Contestant.asyncUpload.makeSender(inFlight: width)
    private let foundation = Contestant.foundation.makeSender(inFlight: width)

    private static let width = 32
    /// How many seconds one measurement should take at most.
    private static let patience = 60.0
    private static let workloads = [
        Workload(name: "1 KB", byteCount: 1000, uploadCount: 5000, fileCount: 5000, width: width),
        Workload(name: "1 MB", byteCount: 1_000_000, uploadCount: 1000, fileCount: 8, width: width),
        Workload(name: "1 KB", byteCount: 1000, uploadCount: 1000, fileCount: 1000, width: 1),
    ]

    private struct Measurement {
        let uploadsPerSecond: Double
    }

    init(rounds: Int) {
        self.rounds = rounds
    }

    func run() async throws {
        print("Small files to a server in another process, \(rounds) rounds. Medians of uploads per second:\n")
        let table = Table(widths: [25, 11, 10, 30])
        table.printRow("", Contestant.asyncUpload.rawValue, Contestant.foundation.rawValue, "ratio")
        for workload in Self.workloads { try await run(workload, table) }
        print("\nRatios are the median of \(rounds) pairs (least..most).")
        for contestant in Contestant.allCases { print("\(contestant.rawValue): \(contestant.explanation)") }
    }

    private func run(_ workload: Workload, _ table: Table) async throws {
        let fileCount = workload.fileCount
        let (counts, measurements) = try await TemporaryFiles.with(fileCount, of: workload.byteCount) { files in
            let counts = try await bearableCounts(of: workload, files)
            let measurements = try await Rounds(rounds, of: Contestant.allCases) { contestant in
                try await measure(contestant, workload, counts[contestant, default: workload.uploadCount], files)
            }
            return (counts, measurements)
        }
        let ratio = measurements.ratio(of: .asyncUpload, to: .foundation, \.uploadsPerSecond)
        table.printRow(
            workload.title,
            measurements.spread(of: .asyncUpload, \.uploadsPerSecond).median.text(0),
            measurements.spread(of: .foundation, \.uploadsPerSecond).median.text(0),
            "x \(ratio.text(1)) the rate"
        )
        for (contestant, count) in counts {
            print("  \(contestant.rawValue) is so slow here that it was measured with \(count) uploads.")
        }
    }

    /// How many uploads to measure a contestant with that would take too long with all of them; it is the rates that are
    /// compared. The trial also does what takes longer the first time.
    private func bearableCounts(of workload: Workload, _ files: [URL]) async throws -> [Contestant: Int] {
        var counts: [Contestant: Int] = [:]
        for contestant in Contestant.allCases {
            let trial = try await measure(contestant, workload, max(workload.width, workload.uploadCount / 20), files)
            let count = max(workload.width, Int(trial.uploadsPerSecond * Self.patience))
            if count < workload.uploadCount { counts[contestant] = count }
        }
        return counts
    }

    private func measure(
        _ contestant: Contestant,
        _ workload: Workload,
        _ count: Int,
        _ files: [URL]
    ) async throws -> Measurement {
        let sender = contestant == .asyncUpload ? asyncUpload : foundation
        let duration = try await CheckedServer.receive(count, of: workload.byteCount) { url in
            try await ContinuousClock().measure { try await workload.send(count, files, to: url, with: sender) }
        }
        return Measurement(uploadsPerSecond: Double(count) / (duration / .seconds(1)))
    }
}
