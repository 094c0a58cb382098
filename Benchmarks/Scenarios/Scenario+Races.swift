private let mebibyte = 1 << 20
private let gibibyte = 1 << 30

extension Scenario {
    private static let transferFigures: [Figure] = [.megabytesPerSecond, .processorSecondsPerGibibyte, .peakMebibytes]

    /// What the scenario consists of, one after the other; none where it is not a matter of races.
    func races(_ setting: Setting) -> [Race] {
        switch self {
        case .file: Self.file(setting)
        case .data:
            [
                Race(
                    "data-256MiB",
                    "256 MiB in memory",
                    Job(body: .data, byteCount: 256 * mebibyte),
                    setting.contestants,
                    shows: Self.transferFigures
                )
            ]
        case .form: [Self.form(setting)]
        case .stream:
            [
                Race(
                    "stream-256MiB",
                    "256 MiB in pieces of 64 KiB, of which nobody knows the length",
                    Job(body: .stream, byteCount: 256 * mebibyte),
                    setting.contestants,
                    shows: Self.transferFigures
                )
            ]
        case .small: Self.small(setting)
        case .link:
            [
                Race(
                    "link",
                    "One file of 12.5 MB over a link of 100 Mbit/s with 40 ms",
                    on: .link,
                    Job(byteCount: 12_500_000),
                    setting.representatives,
                    shows: [.milliseconds, .seconds, .processorSeconds]
                )
            ]
        case .events: [Self.events(setting)]
        case .growth: Self.growth(setting)
        case .resumable: [Self.resumable(setting)]
        case .tls, .cancel, .machinery: []
        }
    }

    private static func file(_ setting: Setting) -> [Race] {
        let sizes = [64 * mebibyte, gibibyte] + (setting.includesLarge ? [4 * gibibyte] : [])
        return sizes.map { byteCount in
            let size = Int64(byteCount).binarySizeText
            return Race(
                "file-\(size.replacing(" ", with: ""))",
                "One file of \(size)",
                Job(byteCount: byteCount),
                setting.contestants.filter { $0.name != Child.foundationData.rawValue },
                shows: [
                    .megabytesPerSecond, .processMegabytesPerSecond, .processorSecondsPerGibibyte, .peakMebibytes,
                    .contextSwitches, .descriptors,
                ]
            )
        }
    }

    private static func form(_ setting: Setting) -> Race {
        let plain = Race.Entry(
            name: "AsyncUpload, file",
            contestant: setting.asyncUpload,
            job: Job(byteCount: gibibyte)
        )
        let job = Job(body: .form, byteCount: gibibyte)
        return Race(
            "form-1GiB",
            "A form with a file of 1 GiB, and the file alone",
            [plain] + setting.contestants.map { Race.Entry(name: $0.name, contestant: $0, job: job) },
            shows: transferFigures
        )
    }

    private static func small(_ setting: Setting) -> [Race] {
        let jobs = [
            ("small-1MB", "1,000 files of 1 MB, 32 at a time", Job(byteCount: 1_000_000, uploadCount: 1000, width: 32)),
            ("small-1KB", "5,000 files of 1 KB, 32 at a time", Job(byteCount: 1000, uploadCount: 5000, width: 32)),
            ("serial-1KB", "1,000 files of 1 KB, one by one", Job(byteCount: 1000, uploadCount: 1000)),
        ]
        return jobs.map { name, title, job in
            Race(
                name,
                title,
                on: .lean,
                job,
                setting.representatives,
                shows: [.uploadsPerSecond, .processorSeconds, .peakMebibytes, .contextSwitches, .descriptors]
            )
        }
    }

    private static func events(_ setting: Setting) -> Race {
        let readings: [(String, Job.Reading)] = [("nobody", .response), ("every event", .events), ("slowly", .slowly)]
        return Race(
            "events-1GiB",
            "One file of 1 GiB, and who reads its events",
            readings.map { name, reading in
                Race.Entry(name: name, contestant: setting.asyncUpload, job: Job(byteCount: gibibyte, reading: reading))
            },
            shows: [.milliseconds, .processorSeconds, .peakMebibytes]
        )
    }

    private static func growth(_ setting: Setting) -> [Race] {
        let bySize = [1, 16, 64, 256, 1024, 4096].map { $0 * mebibyte }.map { size in
            Race.Entry(
                name: Int64(size).binarySizeText,
                contestant: setting.asyncUpload,
                job: Job(byteCount: size)
            )
        }
        let byCount = [10, 100, 1000, 10_000].map { count in
            Race.Entry(
                name: "\(count)",
                contestant: setting.asyncUpload,
                job: Job(byteCount: 1000, uploadCount: count, width: 32, isQueued: true)
            )
        }
        return [
            Race("growth-bytes", "One file, as it grows", bySize, shows: [.nanosecondsPerByte, .peakMebibytes]),
            Race(
                "growth-uploads",
                "Files of 1 KB, all begun at once, 32 in flight, as they become more",
                on: .lean,
                byCount,
                shows: [.microsecondsPerUpload, .peakMebibytes, .descriptors]
            ),
        ]
    }

    private static func resumable(_ setting: Setting) -> Race {
        Race(
            "resumable-1GiB",
            "One file of 1 GiB, plain and resumable",
            [nil, "tus", "ietf"].map { way in
                Race.Entry(
                    name: way ?? "plain",
                    contestant: setting.asyncUpload,
                    job: Job(byteCount: gibibyte, resuming: way)
                )
            },
            shows: transferFigures
        )
    }
}
