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
    func sectionNames(_ setting: Setting) -> [String] {
        switch self {
        case .cancel, .machinery: return [rawValue]
        case .tls: return [TLSSink.raceName]
        default:
            var setting = setting
            setting.includesLarge = true
            return races(setting).map(\.name)
        }
    }

    func run(_ setting: Setting) async throws -> [Report.Section] {
        switch self {
        case .cancel: return [try await Inner.cancel.run(setting)]
        case .machinery: return [try await Inner.machinery.run(setting)]
        case .tls: return [try await TLSSink.race(setting)]
        default:
            var sections: [Report.Section] = []
            for race in races(setting) { sections.append(try await race.run(setting.rounds)) }
            return sections
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
