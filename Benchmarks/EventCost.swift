import AsyncUpload
import Foundation

/// What it costs to read every event of an upload, compared with waiting for its response only.
struct EventCost {
    let byteCount: Int
    let rounds: Int

    private enum Way: CaseIterable {
        case everyEvent, responseOnly
    }

    private struct Measurement {
        let seconds: Double
        let eventCount: Double
    }

    func run() async throws {
        print("One file of \(byteCount >> 20) MiB to a server in another process, \(rounds) rounds, medians.\n")
        let uploader = Uploader()
        let measurements = try await TemporaryFiles.withOne(of: byteCount) { file in
            // The first time the file is not in memory yet.
            for way in Way.allCases { _ = try await measure(way, uploader, file) }
            return try await Rounds(rounds, of: Way.allCases) { try await measure($0, uploader, file) }
        }
        let everyEvent = measurements.spread(of: .everyEvent, \.seconds)
        let eventCount = measurements.spread(of: .everyEvent, \.eventCount).median
        let responseOnly = measurements.spread(of: .responseOnly, \.seconds)
        let costs = measurements.ratio(of: .everyEvent, to: .responseOnly, \.seconds).map { ($0 - 1) * 100 }
        print("for try await, every event  \(everyEvent.text(3)) s, \(eventCount.text(0)) events")
        print("response(for:fromFile:)     \(responseOnly.text(3)) s")
        print("Reading costs \(costs.text(1)) %, the median of \(rounds) pairs (least..most).")
    }

    private func measure(_ way: Way, _ uploader: Uploader, _ file: URL) async throws -> Measurement {
        try await CheckedServer.receive(1, of: byteCount) { url in
            var eventCount = 0
            let duration = try await ContinuousClock().measure {
                switch way {
                case .everyEvent:
                    for try await _ in uploader.upload(for: .put(to: url), fromFile: file) { eventCount += 1 }
                case .responseOnly:
                    _ = try await uploader.response(for: .put(to: url), fromFile: file)
                }
            }
            return Measurement(seconds: duration / .seconds(1), eventCount: Double(eventCount))
        }
    }
}
