import Foundation

/// What the command line can ask for.
enum Scenario: String, CaseIterable {
    case file, data, form, stream, small, tls, link, events, cancel, growth, machinery, resumable

    var explanation: String {
        switch self {
        case .file: "one file: 64 MiB, 1 GiB, with --large 4 GiB"
        case .data: "256 MiB in memory"
        case .form: "a form with a file of 1 GiB, against the plain file"
        case .stream: "256 MiB of which nobody knows the length"
        case .small: "1,000 files of 1 MB and 5,000 of 1 KB at 32 in flight, and 1,000 of 1 KB one by one"
        case .tls: "a file of 1 GiB through TLS"
        case .link: "a file of 12.5 MB over a link of 100 Mbit/s with 40 ms"
        case .events: "reading every event, slowly, or not at all"
        case .cancel: "from cancelling to the end of the connections"
        case .growth: "what a byte, an upload and memory cost as the work grows"
        case .machinery: "an event from the callback to its reader, without a network"
        case .resumable: "resumable uploads against the plain one"
        }
    }

    /// What the tables are called that it may give.
    var sectionNames: [String] {
        switch self {
        case .file: ["file-64MiB", "file-1GiB", "file-4GiB"]
        case .small: ["small-1MB", "small-1KB", "serial-1KB"]
        case .growth: ["growth-bytes", "growth-uploads"]
        case .data, .stream: ["\(rawValue)-256MiB"]
        case .form, .tls, .events, .resumable: ["\(rawValue)-1GiB"]
        case .link, .cancel, .machinery: [rawValue]
        }
    }

    func run(_ setting: Setting) async throws -> [Report.Section] {
        switch self {
        case .file: try await file(setting)
        case .data: try await [data(setting)]
        case .form: try await [form(setting)]
        case .stream: try await [stream(setting)]
        case .small: try await small(setting)
        case .tls: try await tls(setting)
        case .link: try await [link(setting)]
        case .events: try await [events(setting)]
        case .growth: try await growth(setting)
        case .resumable: try await [resumable(setting)]
        case .cancel: try await [Inner.cancel.run(setting)]
        case .machinery: try await [Inner.machinery.run(setting)]
        }
    }
}

/// With what all scenarios are run.
struct Setting {
    var rounds = Rounds(count: 3, patience: 3)
    var includesLarge = false
    /// In the order of the tables.
    var contestants: [Contestant]
    let asyncUpload = Child.asyncUpload.contestant

    /// One of each kind, where every second counts, and whoever was named.
    var representatives: [Contestant] {
        let others = [Child.foundationData.rawValue, Child.foundationDelegate.rawValue, "requests", "upload"]
        return contestants.filter { !others.contains($0.name) }
    }
}

private let mebibyte = 1 << 20
private let gibibyte = 1 << 30

extension Scenario {
    private func file(_ setting: Setting) async throws -> [Report.Section] {
        var sections: [Report.Section] = []
        let sizes =
            [("64MiB", 64 * mebibyte), ("1GiB", gibibyte)] + (setting.includesLarge ? [("4GiB", 4 * gibibyte)] : [])
        for (name, byteCount) in sizes {
            let race = Race(
                "file-\(name)",
                "One file of \(Size.text(byteCount))",
                Job(byteCount: byteCount),
                setting.contestants.filter { $0.name != Child.foundationData.rawValue },
                shows: [
                    .megabytesPerSecond, .processMegabytesPerSecond, .processorSecondsPerGibibyte, .peakMebibytes,
                    .contextSwitches, .descriptors,
                ]
            )
            sections.append(try await race.run(setting.rounds))
        }
        return sections
    }

    private func data(_ setting: Setting) async throws -> Report.Section {
        try await Race(
            "data-256MiB",
            "256 MiB in memory",
            Job(body: .data, byteCount: 256 * mebibyte),
            setting.contestants,
            shows: [.megabytesPerSecond, .processorSecondsPerGibibyte, .peakMebibytes]
        ).run(setting.rounds)
    }

    private func form(_ setting: Setting) async throws -> Report.Section {
        let plain = Race.Entry(
            name: "AsyncUpload, file",
            contestant: setting.asyncUpload,
            job: Job(byteCount: gibibyte)
        )
        let job = Job(body: .form, byteCount: gibibyte)
        let entries = setting.contestants.map { Race.Entry(name: $0.name, contestant: $0, job: job) }
        return try await Race(
            "form-1GiB",
            "A form with a file of 1 GiB, and the file alone",
            [plain] + entries,
            shows: [.megabytesPerSecond, .processorSecondsPerGibibyte, .peakMebibytes]
        ).run(setting.rounds)
    }

    private func stream(_ setting: Setting) async throws -> Report.Section {
        try await Race(
            "stream-256MiB",
            "256 MiB in pieces of 64 KiB, of which nobody knows the length",
            Job(body: .stream, byteCount: 256 * mebibyte),
            setting.contestants,
            shows: [.megabytesPerSecond, .processorSecondsPerGibibyte, .peakMebibytes]
        ).run(setting.rounds)
    }

    private func small(_ setting: Setting) async throws -> [Report.Section] {
        let jobs = [
            ("small-1MB", "1,000 files of 1 MB, 32 at a time", Job(byteCount: 1_000_000, uploadCount: 1000, width: 32)),
            ("small-1KB", "5,000 files of 1 KB, 32 at a time", Job(byteCount: 1000, uploadCount: 5000, width: 32)),
            ("serial-1KB", "1,000 files of 1 KB, one by one", Job(byteCount: 1000, uploadCount: 1000)),
        ]
        var sections: [Report.Section] = []
        for (name, title, job) in jobs {
            let race = Race(
                name,
                title,
                on: .lean,
                job,
                setting.representatives,
                shows: [.uploadsPerSecond, .processorSeconds, .peakMebibytes, .contextSwitches, .descriptors]
            )
            sections.append(try await race.run(setting.rounds))
        }
        return sections
    }

    private func tls(_ setting: Setting) async throws -> [Report.Section] {
        if let missing = TLSSink.whatIsMissing {
            return [
                Report.Section(name: "tls-1GiB", title: "TLS", shows: [], rows: [], notes: ["There is no \(missing)."])
            ]
        }
        return try await TemporaryFolder.with { folder in
            var job = Job(byteCount: gibibyte)
            job.authority = try TLSSink.makeCertificate(in: folder)
            return try await [
                Race(
                    "tls-1GiB",
                    "One file of 1 GiB through TLS",
                    on: .tls,
                    job,
                    setting.contestants,
                    shows: [
                        .megabytesPerSecond, .processMegabytesPerSecond, .processorSecondsPerGibibyte, .peakMebibytes,
                    ]
                ).run(setting.rounds)
            ]
        }
    }

    private func link(_ setting: Setting) async throws -> Report.Section {
        try await Race(
            "link",
            "One file of 12.5 MB over a link of 100 Mbit/s with 40 ms",
            on: .link,
            Job(byteCount: 12_500_000),
            setting.representatives,
            shows: [.milliseconds, .seconds, .processorSeconds]
        ).run(setting.rounds)
    }

    private func events(_ setting: Setting) async throws -> Report.Section {
        let readings: [(String, Job.Reading)] = [("nobody", .response), ("every event", .events), ("slowly", .slowly)]
        let entries = readings.map { name, reading in
            Race.Entry(name: name, contestant: setting.asyncUpload, job: Job(byteCount: gibibyte, reading: reading))
        }
        return try await Race(
            "events-1GiB",
            "One file of 1 GiB, and who reads its events",
            entries,
            shows: [.milliseconds, .processorSeconds, .peakMebibytes]
        ).run(setting.rounds)
    }

    private func growth(_ setting: Setting) async throws -> [Report.Section] {
        let sizes = [1, 16, 64, 256, 1024, 4096].map { $0 * mebibyte }
        let counts = [10, 100, 1000, 10_000]
        let bySize = sizes.map { size in
            Race.Entry(name: Size.text(size), contestant: setting.asyncUpload, job: Job(byteCount: size))
        }
        let byCount = counts.map { count in
            Race.Entry(
                name: "\(count)",
                contestant: setting.asyncUpload,
                job: Job(byteCount: 1000, uploadCount: count, width: 32, isQueued: true)
            )
        }
        return try await [
            Race("growth-bytes", "One file, as it grows", bySize, shows: [.nanosecondsPerByte, .peakMebibytes])
                .run(setting.rounds),
            Race(
                "growth-uploads",
                "Files of 1 KB, all begun at once, 32 in flight, as they become more",
                on: .lean,
                byCount,
                shows: [.microsecondsPerUpload, .peakMebibytes, .descriptors]
            ).run(setting.rounds),
        ]
    }

    private func resumable(_ setting: Setting) async throws -> Report.Section {
        let entries = [nil, "tus", "ietf"].map { way in
            Race.Entry(
                name: way ?? "plain",
                contestant: setting.asyncUpload,
                job: Job(byteCount: gibibyte, resuming: way)
            )
        }
        return try await Race(
            "resumable-1GiB",
            "One file of 1 GiB, plain and resumable",
            entries,
            shows: [.megabytesPerSecond, .processorSecondsPerGibibyte, .peakMebibytes]
        ).run(setting.rounds)
    }
}

/// Numbers of bytes for people.
enum Size {
    /// Of whole MiB.
    static func text(_ byteCount: Int) -> String {
        byteCount % gibibyte == 0 ? "\(byteCount / gibibyte) GiB" : "\(byteCount / mebibyte) MiB"
    }
}
