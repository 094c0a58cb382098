import Foundation

/// What a run has found: shown as a table, written as JSON, Markdown and charts, and checked against thresholds.
struct Report: Codable {
    /// The command that has made it.
    var command: String
    /// Of what machine the figures are: they mean nothing elsewhere, the ratios do.
    var machine: String
    var sections: [Section] = []

    /// What was measured side by side, in one run.
    struct Section: Codable {
        /// How thresholds and charts refer to it, such as `file-1GiB`.
        var name: String
        /// What was done, for people.
        var title: String
        /// The figures that its table shows.
        var shows: [Figure]
        /// The first is what the others are compared with.
        var rows: [Row]
        /// What else a reader must know, such as who was left out and why.
        var notes: [String] = []
    }

    struct Row: Codable {
        /// A contestant, or a size.
        var name: String
        /// How many bytes each measurement has sent, and in how many uploads.
        var byteCount: Int64 = 0
        var uploadCount = 0
        /// The measurements, one of each round. Those of one round were taken one after the other, so that what is compared
        /// is compared round by round. A row that was slow has fewer rounds than the others.
        var rounds: [Measurement]
    }
}

/// What one round has found of one row. What nobody could tell is `nil`.
struct Measurement: Codable {
    /// Of the whole process, from before it is started until it is gone.
    var seconds: Double?
    /// As the contestant has measured by itself, without the start of its process.
    var inProcessSeconds: Double?
    /// User and system time of the process.
    var processorSeconds: Double?
    var peakMebibytes: Double?
    var contextSwitches: Double?
    /// The most that were open at a time.
    var descriptors: Double?
    /// For each event.
    var nanoseconds: Double?
    /// Of memory, for each event.
    var allocations: Double?
}

/// What can be read from a ``Report/Row``.
enum Figure: String, Codable, CaseIterable {
    case seconds, inProcessSeconds, processorSeconds
    case peakMebibytes, contextSwitches, descriptors, nanoseconds, allocations
    /// 10^6 bytes a second; of the whole process where nothing else is known.
    case megabytesPerSecond
    case milliseconds
    /// Of the whole process.
    case processMegabytesPerSecond
    case uploadsPerSecond
    /// Of processor time, for each GiB.
    case processorSecondsPerGibibyte
    case nanosecondsPerByte
    case microsecondsPerUpload

    /// Whether more is better.
    var isRate: Bool {
        switch self {
        case .megabytesPerSecond, .processMegabytesPerSecond, .uploadsPerSecond: true
        default: false
        }
    }

    /// The heading of a column.
    var title: String {
        switch self {
        case .seconds: "seconds"
        case .inProcessSeconds: "s in process"
        case .processorSeconds: "CPU s"
        case .peakMebibytes: "peak MiB"
        case .contextSwitches: "switches"
        case .descriptors: "descriptors"
        case .nanoseconds: "ns"
        case .allocations: "allocations"
        case .milliseconds: "ms"
        case .megabytesPerSecond: "MB/s"
        case .processMegabytesPerSecond: "MB/s, process"
        case .uploadsPerSecond: "uploads/s"
        case .processorSecondsPerGibibyte: "CPU s/GiB"
        case .nanosecondsPerByte: "ns/byte"
        case .microsecondsPerUpload: "µs/upload"
        }
    }

    /// - Returns: `nil` when the measurement does not tell.
    func value(of measurement: Measurement, in row: Report.Row) -> Double? {
        let time = measurement.inProcessSeconds ?? measurement.seconds
        let bytes = Double(row.byteCount)
        let uploads = Double(row.uploadCount)
        switch self {
        case .seconds: return measurement.seconds
        case .inProcessSeconds: return measurement.inProcessSeconds
        case .processorSeconds: return measurement.processorSeconds
        case .peakMebibytes: return measurement.peakMebibytes
        case .contextSwitches: return measurement.contextSwitches
        case .descriptors: return measurement.descriptors
        case .nanoseconds: return measurement.nanoseconds
        case .allocations: return measurement.allocations
        case .milliseconds: return time.map { $0 * 1000 }
        case .megabytesPerSecond: return time.map { bytes / 1e6 / $0 }
        case .processMegabytesPerSecond: return measurement.seconds.map { bytes / 1e6 / $0 }
        case .uploadsPerSecond: return time.map { uploads / $0 }
        case .processorSecondsPerGibibyte: return measurement.processorSeconds.map { $0 / (bytes / 1_073_741_824) }
        case .nanosecondsPerByte: return time.map { $0 * 1e9 / bytes }
        case .microsecondsPerUpload: return time.map { $0 * 1e6 / uploads }
        }
    }
}

extension Report.Section {
    func row(_ name: String) -> Report.Row? {
        rows.first { $0.name == name }
    }
}

extension Report.Row {
    /// - Returns: `nil` when no measurement tells.
    func spread(_ figure: Figure) -> Spread? {
        let values = rounds.compactMap { figure.value(of: $0, in: self) }
        return values.isEmpty ? nil : Spread(values)
    }

    /// Over another row's, round by round.
    ///
    /// - Returns: `nil` when there is no round in which both tell.
    func ratio(_ figure: Figure, to other: Report.Row) -> Spread? {
        pairs(figure, other) { $0 / $1 }
    }

    /// How much more than another row's, round by round.
    func difference(_ figure: Figure, to other: Report.Row) -> Spread? {
        pairs(figure, other) { $0 - $1 }
    }

    private func pairs(_ figure: Figure, _ other: Report.Row, _ combine: (Double, Double) -> Double) -> Spread? {
        let values = zip(rounds, other.rounds).compactMap { own, its -> Double? in
            guard let own = figure.value(of: own, in: self), let its = figure.value(of: its, in: other) else {
                return nil
            }
            return combine(own, its)
        }
        return values.isEmpty ? nil : Spread(values)
    }
}
