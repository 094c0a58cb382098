@testable import Benchmarks

extension Report {
    static func sample(_ sections: [Section]) -> Report {
        Report(command: "swift run -c release Benchmarks all", machine: "Linux, 2 cores", sections: sections)
    }
}

extension Report.Section {
    /// Of 1000 MB, so that a second is 1000 MB/s. Round by round, curl is x 1, x 0.5 and x 1 of AsyncUpload, which is not
    /// what the medians would say.
    static let sample = Report.Section(
        name: "file-1GiB",
        title: "A large file",
        shows: [.megabytesPerSecond, .peakMebibytes],
        rows: [
            Report.Row(name: "AsyncUpload", seconds: [1, 0.8, 1.25], peaks: [20, 22, 21]),
            Report.Row(name: "curl", seconds: [1, 1.6, 1.25], peaks: [9, 9, 9]),
            Report.Row(name: "requests", rounds: [Measurement()]),
        ],
        notes: ["nginx is not on this machine.", "Everything over loopback."]
    )

    /// One row, one round, one figure.
    static let single = Report.Section(
        name: "events",
        title: "One event",
        shows: [.nanoseconds],
        rows: [Report.Row(name: "emit", rounds: [Measurement(nanoseconds: 42.5)])]
    )

    static func growth(_ peaks: [(bytes: Int64, mebibytes: [Double])]) -> Report.Section {
        Report.Section(
            name: "growth-bytes",
            title: "Memory by size",
            shows: [.peakMebibytes],
            rows: peaks.map { size in
                let rounds = size.mebibytes.map { Measurement(peakMebibytes: $0) }
                return Report.Row(name: "\(size.bytes)", byteCount: size.bytes, uploadCount: 1, rounds: rounds)
            }
        )
    }
}

extension Report.Row {
    init(name: String, seconds: [Double], peaks: [Double] = []) {
        let rounds = seconds.enumerated().map { index, seconds in
            Measurement(seconds: seconds, peakMebibytes: index < peaks.count ? peaks[index] : nil)
        }
        self.init(name: name, byteCount: 1_000_000_000, uploadCount: 1, rounds: rounds)
    }
}
