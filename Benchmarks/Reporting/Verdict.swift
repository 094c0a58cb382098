/// Whether a threshold holds, with the line that says so.
struct Verdict: CustomStringConvertible {
    enum Outcome: Equatable {
        case holds
        case broken
        /// Counts as a failure: what is not there has not been checked.
        case notMeasured(reason: String)
        /// The same of an optional threshold, and no failure.
        case skipped(reason: String)
    }

    let threshold: Threshold
    let outcome: Outcome
    /// The line for people.
    let description: String

    /// - Parameter margin: At least 1.
    init(of threshold: Threshold, on report: Report, margin: Double) {
        let subject = "\(threshold.section): \(threshold.row) \(threshold.figure.rawValue)"
        self.threshold = threshold
        switch Self.measured(threshold, in: report) {
        case .success(let measured):
            let isAllowed = measured.isFinite && threshold.limit.allows(measured.median, margin: margin)
            let finding = Self.text(measured, threshold.limit, margin: margin, isAllowed: isAllowed)
            outcome = isAllowed ? .holds : .broken
            description =
                isAllowed ? "ok      \(subject) \(finding)" : "BROKEN  \(subject) \(finding): \(threshold.why)"
        case .failure(let absence) where absence.isExcused:
            outcome = .skipped(reason: absence.reason)
            description = "skipped \(subject): \(absence.reason)"
        case .failure(let absence):
            outcome = .notMeasured(reason: absence.reason)
            description = "MISSING \(subject): \(absence.reason): \(threshold.why)"
        }
    }

    var isFailure: Bool {
        switch outcome {
        case .holds, .skipped: false
        case .broken, .notMeasured: true
        }
    }

    private struct Absence: Error {
        let reason: String
        var isExcused = false
    }

    /// What the limit is about: a figure, or the ratios or differences of each round.
    private static func measured(_ threshold: Threshold, in report: Report) -> Result<Spread, Absence> {
        guard let section = report.sections.first(where: { $0.name == threshold.section }) else {
            return .failure(Absence(reason: "there is no such section"))
        }
        func absent(_ row: String) -> Result<Spread, Absence> {
            .failure(Absence(reason: "there is no row \(row)", isExcused: threshold.isOptional))
        }
        guard let row = section.row(threshold.row) else { return absent(threshold.row) }
        let spread: Spread?
        if let name = threshold.limit.other {
            guard let other = section.row(name) else { return absent(name) }
            if case .differenceAtMost = threshold.limit {
                spread = row.difference(threshold.figure, to: other)
            } else {
                spread = row.ratio(threshold.figure, to: other)
            }
        } else {
            spread = row.spread(threshold.figure)
        }
        return spread.map { .success($0) } ?? .failure(Absence(reason: "no round tells"))
    }

    /// As in "is x 1.03 (0.98..1.10) of curl, at least 0.95".
    private static func text(_ measured: Spread, _ limit: Threshold.Limit, margin: Double, isAllowed: Bool) -> String {
        let bound = limit.bound(margin: margin)
        let broken = isAllowed ? nil : bound
        let finding =
            switch limit {
            case .ratioAtLeast(_, let other), .ratioAtMost(_, let other):
                "x \(text(measured, from: measured.ratioDigits, besides: broken)) of \(other)"
            case .differenceAtMost(_, let other):
                "\(text(measured, from: measured.shortDigits, besides: broken)) more than \(other)"
            case .atMost:
                text(measured, from: measured.shortDigits, besides: broken)
            }
        let given = limit.bound.plainText
        let allowed = margin == 1 ? given : "\(bound.shortText) (\(given), margin \(margin.plainText))"
        return "is \(finding), \(limit.isLeast ? "at least" : "at most") \(allowed)"
    }

    /// With more digits where the median would look like the limit that it breaks.
    private static func text(_ measured: Spread, from digits: Int, besides bound: Double?) -> String {
        var digits = digits
        while let bound, digits < 9, measured.median != bound, measured.median.text(digits) == bound.text(digits) {
            digits += 1
        }
        return measured.text(upTo: digits)
    }
}

extension [Verdict] {
    /// Whether none is a failure.
    var allHold: Bool {
        !contains(where: \.isFailure)
    }
}
