/// What must be true of a report.
struct Threshold: Equatable {
    /// The name of the section.
    var section: String
    /// The name of the row that is judged.
    var row: String
    var figure: Figure
    var limit: Limit
    /// A short sentence for people.
    var why: String
    /// Whether a row may be missing, as those of programs that are not on every machine.
    var isOptional = false

    /// Values at the limit are within it. `to` is the name of the row to compare with, of the same section.
    enum Limit: Equatable {
        case ratioAtLeast(Double, to: String)
        case ratioAtMost(Double, to: String)
        /// In the unit of the figure.
        case differenceAtMost(Double, to: String)
        case atMost(Double)
    }
}

extension Threshold.Limit {
    var bound: Double {
        switch self {
        case .ratioAtLeast(let bound, _), .ratioAtMost(let bound, _), .differenceAtMost(let bound, _): bound
        case .atMost(let bound): bound
        }
    }

    /// The row to compare with.
    var other: String? {
        switch self {
        case .ratioAtLeast(_, let other), .ratioAtMost(_, let other), .differenceAtMost(_, let other): other
        case .atMost: nil
        }
    }

    /// Whether the bound is the least that is allowed. Otherwise it is the most.
    var isLeast: Bool {
        if case .ratioAtLeast = self { true } else { false }
    }

    /// The bound for a machine on which nothing can be measured well: never stricter than it is.
    ///
    /// - Parameter margin: At least 1.
    func bound(margin: Double) -> Double {
        isLeast || bound < 0 ? bound / margin : bound * margin
    }

    func allows(_ value: Double, margin: Double) -> Bool {
        isLeast ? value >= bound(margin: margin) : value <= bound(margin: margin)
    }
}
