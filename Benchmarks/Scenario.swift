import Foundation

/// What the command line asks for.
enum Scenario {
    case file(mebibytes: Int, rounds: Int)
    case small(rounds: Int)
    case process(mebibytes: Int, rounds: Int)
    case events(mebibytes: Int, rounds: Int)
    case resumable(mebibytes: Int, rounds: Int)
    case help
    /// What ``Comparison`` runs in a process of its own.
    case single(Contestant, file: URL, url: URL)
    /// What ``CheckedServer`` runs in a process of its own.
    case sink(String?)

    static let usage = """
        usage: Benchmarks [MiB] [rounds]          one file against Foundation, and cancelling
               Benchmarks small [rounds]          many small files against Foundation
               Benchmarks process [MiB] [rounds]  the upload tool against curl
               Benchmarks events [MiB] [rounds]   reading every event against awaiting the response
               Benchmarks resumable [MiB] [rounds]
                                                  resumable uploads against the plain one
               Benchmarks help

        """

    /// - Returns: `nil` when the arguments are wrong.
    init?(_ arguments: [String]) {
        if arguments.count == 3, let contestant = Contestant(rawValue: arguments[0]),
            let url = URL(string: arguments[2])
        {
            self = .single(contestant, file: URL(fileURLWithPath: arguments[1]), url: url)
            return
        }
        let rest = arguments.dropFirst()
        switch arguments.first {
        case "small":
            guard let numbers = Self.numbers(rest, insteadOf: [5]) else { return nil }
            self = .small(rounds: numbers[0])
        case "process":
            guard let numbers = Self.numbers(rest, insteadOf: [1024, 15]) else { return nil }
            self = .process(mebibytes: numbers[0], rounds: numbers[1])
        case "events":
            guard let numbers = Self.numbers(rest, insteadOf: [1024, 15]) else { return nil }
            self = .events(mebibytes: numbers[0], rounds: numbers[1])
        case "resumable":
            guard let numbers = Self.numbers(rest, insteadOf: [1024, 7]) else { return nil }
            self = .resumable(mebibytes: numbers[0], rounds: numbers[1])
        case "sink" where rest.count < 2:
            self = .sink(rest.first)
        case "help" where rest.isEmpty:
            self = .help
        default:
            guard let numbers = Self.numbers(arguments[...], insteadOf: [1024, 3]) else { return nil }
            self = .file(mebibytes: numbers[0], rounds: numbers[1])
        }
    }

    /// The arguments in place of the first of the usual values; `nil` when there are too many or one is out of bounds.
    private static func numbers(_ arguments: ArraySlice<String>, insteadOf usual: [Int]) -> [Int]? {
        let given = arguments.compactMap { Int($0) }.filter { (1...1 << 20).contains($0) }
        guard given.count == arguments.count, given.count <= usual.count else { return nil }
        return given + usual.dropFirst(given.count)
    }

    func run() async throws {
        switch self {
        case .file(let mebibytes, let rounds):
            try await Comparison(byteCount: mebibytes << 20, rounds: rounds).run()
            try await CancelLatency.report(rounds: 20)
        case .small(let rounds):
            try await SmallFiles(rounds: rounds).run()
        case .process(let mebibytes, let rounds):
            try await ToolComparison(byteCount: mebibytes << 20, rounds: rounds).run()
        case .events(let mebibytes, let rounds):
            try await EventCost(byteCount: mebibytes << 20, rounds: rounds).run()
        case .resumable(let mebibytes, let rounds):
            try await ResumableComparison(byteCount: mebibytes << 20, rounds: rounds).run()
        case .sink(let protocolName):
            try CheckedServer.serveUntilInputEnds(by: protocolName)
        case .help:
            FileHandle.standardError.write(Data(Self.usage.utf8))
        case .single(let contestant, let file, let url):
            try await contestant.makeSender(inFlight: 1)(file, url)
        }
    }
}
