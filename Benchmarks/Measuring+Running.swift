import Foundation

extension Command.Measuring {
    /// Runs the scenarios, shows what each has found as soon as it has, and writes and checks what was asked for.
    func run() async throws {
        // What is wrong with a file of thresholds should not be found out after all the measuring.
        let thresholds = try self.thresholds.map { try Thresholds.load(from: URL(fileURLWithPath: $0)) }
        try check(names: thresholds?.entries ?? [])
        var report = Report(command: command, machine: Platform.machine)
        for scenario in scenarios {
            for section in try await scenario.run(setting) {
                print(Table(of: section).text + "\n")
                report.sections.append(section)
            }
        }
        printContestants()
        try write(report)
        if let thresholds { try check(report, thresholds) }
    }

    private var command: String {
        (["swift run -c release Benchmarks"] + CommandLine.arguments.dropFirst()).joined(separator: " ")
    }

    private func printContestants() {
        print("Ratios are to the first row, the median of the rounds (least..most); bars show the first column.")
        for contestant in setting.contestants { print("\(contestant.name): \(contestant.explanation)") }
        if let floor = Platform.leastPeakOfChildren {
            print("A peak below \((Double(floor) / 1_048_576).text(0)) MiB, that of this process, cannot be told.")
        }
    }

    private func write(_ report: Report) throws {
        if let json { try report.write(to: URL(fileURLWithPath: json)) }
        if let markdown { try Data(Markdown(of: report).text.utf8).write(to: URL(fileURLWithPath: markdown)) }
        if let svg { try Data(try Chart(of: report).svg.utf8).write(to: URL(fileURLWithPath: svg)) }
    }

    /// A section that no scenario has would never be missed.
    private func check(names thresholds: [Threshold]) throws {
        let known = Scenario.allCases.flatMap { $0.sectionNames(setting) }
        if let unknown = thresholds.first(where: { !known.contains($0.section) }) {
            throw Failure(description: "no scenario has a table \(unknown.section), which a threshold is for")
        }
    }

    private func check(_ report: Report, _ thresholds: Thresholds) throws {
        let run = scenarios.flatMap { $0.sectionNames(setting) }
        let verdicts = Thresholds(entries: thresholds.entries.filter { run.contains($0.section) })
            .check(report, margin: margin)
        for verdict in verdicts { print(verdict) }
        guard verdicts.allHold else {
            let failureCount = verdicts.count(where: \.isFailure)
            throw Failure(description: "\(failureCount) of \(verdicts.count) thresholds do not hold")
        }
    }
}
