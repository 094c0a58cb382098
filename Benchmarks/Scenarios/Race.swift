import Foundation

/// Some who upload the same, or one who uploads different things, side by side.
struct Race {
    struct Entry {
        let name: String
        let contestant: Contestant
        let job: Job
    }

    let name: String
    let title: String
    var server = SinkServer.Kind.plain
    let shows: [Figure]
    let entries: [Entry]

    /// The same job for all.
    init(
        _ name: String,
        _ title: String,
        on server: SinkServer.Kind = .plain,
        _ job: Job,
        _ contestants: [Contestant],
        shows: [Figure]
    ) {
        self.init(
            name,
            title,
            on: server,
            contestants.map { Entry(name: $0.name, contestant: $0, job: job) },
            shows: shows
        )
    }

    init(_ name: String, _ title: String, on server: SinkServer.Kind = .plain, _ entries: [Entry], shows: [Figure]) {
        self.name = name
        self.title = title
        self.server = server
        self.shows = shows
        self.entries = entries
    }

    func run(_ rounds: Rounds) async throws -> Report.Section {
        var section = Report.Section(name: name, title: title, shows: shows, rows: [])
        let entries = entries.filter { $0.contestant.canDo($0.job) }
        let measured = try await JobFiles.with(entries.map(\.job)) { files in
            try await rounds.measure(entries.count) { try await measure(entries[$0], files[$0]) }
        }
        for (entry, measurements) in zip(entries, measured) {
            section.rows.append(
                Report.Row(
                    name: entry.name,
                    byteCount: Int64(entry.job.byteCount) * Int64(entry.job.uploadCount),
                    uploadCount: entry.job.uploadCount,
                    rounds: measurements
                )
            )
        }
        let short = section.rows.filter { $0.rounds.count < rounds.count }.map { "\($0.name) (\($0.rounds.count))" }
        if !short.isEmpty {
            section.notes.append(
                "Fewer rounds than \(rounds.count), since they take long: \(short.joined(separator: ", "))."
            )
        }
        return section
    }

    private func measure(_ entry: Entry, _ files: JobFiles) async throws -> Measurement {
        try await SinkServer.receive(entry.job, entry.server(or: server)) { url in
            try entry.contestant.measure(entry.job, files, url)
        }
    }
}

extension Race.Entry {
    fileprivate func server(or usual: SinkServer.Kind) -> SinkServer.Kind {
        job.resuming.flatMap(SinkServer.Kind.init) ?? usual
    }
}
