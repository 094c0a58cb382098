import Foundation

/// What the command line asks for.
enum Command {
    case measure(Measuring)
    case help
    /// What ``SinkServer`` runs in a process of its own.
    case sink(SinkServer.Kind)
    /// What a ``Contestant`` runs in a process of its own.
    case child(Child, Job, JobFiles, URL)
    /// What a scenario that is not about processes runs in one of its own.
    case inner(Inner, Int)

    struct Measuring {
        var scenarios: [Scenario] = []
        var setting: Setting
        var json: String?
        var markdown: String?
        var svg: String?
        var thresholds: String?
        var margin = 1.0
    }

    static var usage: String {
        let scenarios = Scenario.allCases.map { scenario in
            "  \(scenario.rawValue.padding(toLength: 11, withPad: " ", startingAt: 0))\(scenario.explanation)\n"
        }
        return """
            usage: Benchmarks [SCENARIO...] [OPTION...]

            Measures uploads side by side, each in a process of its own, and compares round by round. Without a scenario all
            of them are run:

            \(scenarios.joined())
              --rounds N            measure everything N times (3)
              --patience SECONDS    who has taken as long in a table sits out its other rounds (3)
              --large               a file of 4 GiB, too
              --contestant 'NAME=COMMAND with {file} and {url}'
                                    one more program that sends a file; may be given more than once
              --json FILE           write all that was measured
              --markdown FILE       write the tables for a page
              --svg FILE            write two charts: throughput, and memory against size
              --check FILE          compare with the thresholds of FILE, those of the scenarios that are run; exit status 1
                                    when one does not hold
              --margin FACTOR       be that much more lenient in that (1)

            """
    }

    init(_ arguments: [String]) throws {
        switch arguments.first {
        case "help", "--help", "-h": self = .help
        case "sink": self = try Self.sink(Array(arguments.dropFirst()))
        case "child": self = try Self.child(Array(arguments.dropFirst()))
        case "inner": self = try Self.inner(Array(arguments.dropFirst()))
        default: self = .measure(try Measuring(arguments))
        }
    }

    private static func sink(_ arguments: [String]) throws -> Command {
        guard arguments.count == 1, let kind = SinkServer.Kind(rawValue: arguments[0]) else {
            throw UsageError(description: "sink takes a kind of server")
        }
        return .sink(kind)
    }

    private static func child(_ arguments: [String]) throws -> Command {
        guard arguments.count == 4, let child = Child(rawValue: arguments[0]),
            let job = try? JSONDecoder().decode(Job.self, from: Data(arguments[1].utf8)),
            let url = URL(string: arguments[3])
        else { throw UsageError(description: "child takes a contestant, a job, a folder and a URL") }
        return .child(child, job, JobFiles(folder: URL(fileURLWithPath: arguments[2])), url)
    }

    private static func inner(_ arguments: [String]) throws -> Command {
        guard arguments.count == 2, let inner = Inner(rawValue: arguments[0]), let number = Int(arguments[1]),
            number > 0
        else { throw UsageError(description: "inner takes a scenario and a number") }
        return .inner(inner, number)
    }
}

/// What is wrong with the command line.
struct UsageError: Error, CustomStringConvertible {
    let description: String
}

extension Command.Measuring {
    fileprivate init(_ arguments: [String]) throws {
        setting = Setting(contestants: try Self.contestants())
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            func value() throws -> String {
                guard let value = rest.popFirst() else { throw UsageError(description: "\(argument) needs a value") }
                return value
            }
            switch argument {
            case "--rounds": setting.rounds.count = Int(try Self.number(value(), of: argument, in: 1...1000).rounded())
            case "--patience": setting.rounds.patience = try Self.number(value(), of: argument, in: 0...86_400)
            case "--large": setting.includesLarge = true
            case "--contestant": setting.contestants.append(try Self.outsider(value()))
            case "--json": json = try value()
            case "--markdown": markdown = try value()
            case "--svg": svg = try value()
            case "--check": thresholds = try value()
            case "--margin": margin = try Self.number(value(), of: argument, in: 1...100)
            default:
                guard let scenario = Scenario(rawValue: argument) else {
                    throw UsageError(description: "there is no scenario or option \(argument)")
                }
                if !scenarios.contains(scenario) { scenarios.append(scenario) }
            }
        }
        if scenarios.isEmpty { scenarios = Scenario.allCases }
    }

    private static func contestants() throws -> [Contestant] {
        let own = Child.allCases.map(\.contestant)
        return try own + [.uploadTool()] + [.curl(), .requests()].compactMap(\.self)
    }

    private static func outsider(_ description: String) throws -> Contestant {
        guard let contestant = Contestant.outside(description) else {
            throw UsageError(description: "a contestant is NAME=COMMAND with {file} and {url}, not \(description)")
        }
        return contestant
    }

    private static func number(_ text: String, of option: String, in range: ClosedRange<Double>) throws -> Double {
        guard let number = Double(text), range.contains(number) else {
            let bounds = "\(range.lowerBound.text(0)) to \(range.upperBound.text(0))"
            throw UsageError(description: "\(option) takes a number from \(bounds), not \(text)")
        }
        return number
    }
}
