import Foundation

/// What is not about another process at all. It is measured in one of its own all the same, so that it finds the same state
/// each time.
enum Inner: String {
    case cancel, machinery

    private var title: String {
        switch self {
        case .cancel: "From cancelling uploads in the middle of 64 MiB to the end of their connections"
        case .machinery: "One event from the callback to its waiting reader, of so many uploads at a time"
        }
    }

    private var rows: [(name: String, number: Int)] {
        switch self {
        case .cancel: CancelLatency.uploadCounts.map { ("\($0) uploads", $0) }
        case .machinery: EventMachinery.taskCounts.map { ("\($0) uploads", $0) }
        }
    }

    func run(_ setting: Setting) async throws -> Report.Section {
        let rows = rows
        let measured = try await setting.rounds.measure(rows.count) { index in
            let usage = try ProcessUsage(
                running: CommandLine.arguments[0],
                ["inner", rawValue, "\(rows[index].number)"]
            )
            return try JSONDecoder().decode(Measurement.self, from: Data(usage.output.utf8))
        }
        return Report.Section(
            name: rawValue,
            title: title,
            shows: self == .machinery ? [.nanoseconds, .allocations] : [.milliseconds],
            rows: zip(rows, measured).map { Report.Row(name: $0.name, rounds: $1) }
        )
    }

    /// In the process of its own: prints what it has measured.
    func measure(_ number: Int) async throws {
        let measurement: Measurement
        switch self {
        case .cancel: measurement = try await CancelLatency.measure(uploadCount: number)
        case .machinery: measurement = try await EventMachinery.measure(taskCount: number)
        }
        try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(measurement))
    }
}
