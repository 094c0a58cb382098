import AsyncUpload
import Foundation
import LoopbackServer

/// Resumable uploads against the plain one, in the same run.
struct ResumableComparison {
    let byteCount: Int
    let rounds: Int

    private enum Way: String, CaseIterable {
        case plain, tus, ietf
    }

    private struct Measurement {
        let seconds: Double
    }

    func run() async throws {
        print("One file of \(byteCount >> 20) MiB to a server in another process, \(rounds) rounds, medians.\n")
        let uploader = Uploader()
        let measurements = try await TemporaryFiles.withOne(of: byteCount) { file in
            // The first time the file is not in memory yet.
            for way in Way.allCases { _ = try await measure(way, uploader, file) }
            return try await Rounds(rounds, of: Way.allCases) { try await measure($0, uploader, file) }
        }
        let table = Table(widths: [10, 14, 40])
        for way in Way.allCases {
            let speed = measurements.ratio(of: .plain, to: way, \.seconds)
            table.printRow(
                way.rawValue,
                "\(measurements.spread(of: way, \.seconds).median.text(3)) s",
                way == .plain ? "" : "x \(speed.text(2)) the speed of the plain upload"
            )
        }
    }

    private func measure(_ way: Way, _ uploader: Uploader, _ file: URL) async throws -> Measurement {
        let duration = try await CheckedServer.receive(1, of: byteCount, by: way == .plain ? nil : way.rawValue) {
            url in
            try await ContinuousClock().measure {
                switch way {
                case .plain: _ = try await uploader.response(for: .put(to: url), fromFile: file)
                case .tus: _ = try await uploader.response(for: .put(to: url), fromFile: file, resuming: .tus())
                case .ietf: _ = try await uploader.response(for: .put(to: url), fromFile: file, resuming: .ietf())
                }
            }
        }
        return Measurement(seconds: duration / .seconds(1))
    }
}
