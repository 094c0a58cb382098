import Foundation

/// Where on an axis a value lies.
struct ChartScale {
    private let least: Double
    private let most: Double
    private let start: Double
    private let end: Double
    private let transform: (Double) -> Double

    /// From 0, at `start`, to a value, at `end`.
    static func linear(to most: Double, start: Double, end: Double) -> ChartScale {
        ChartScale(least: 0, most: most > 0 ? most : 1, start: start, end: end) { $0 }
    }

    /// For values above 0: doubled, they are always equally far from each other.
    static func logarithmic(from least: Double, to most: Double, start: Double, end: Double) -> ChartScale {
        ChartScale(least: log2(least), most: log2(most), start: start, end: end) { log2($0) }
    }

    /// In the middle where the axis has only one value.
    func position(of value: Double) -> Double {
        let share = most > least ? (transform(value) - least) / (most - least) : 0.5
        return start + share * (end - start)
    }
}

/// Round values to mark an axis at: from 0, equally far from each other, and to no less than a value.
struct ChartTicks {
    let values: [Double]
    private let digits: Int

    init(upTo most: Double) {
        guard most > 0, most.isFinite else {
            (values, digits) = ([0, 1], 0)
            return
        }
        let unit = pow(10, floor(log10(most / 4)))
        let step = ([1, 2, 5].first { $0 * unit >= most / 4 } ?? 10) * unit
        values = (0...Int((most / step).rounded(.up))).map { Double($0) * step }
        digits = max(0, -Int(floor(log10(step))))
    }

    var greatest: Double {
        values.last ?? 0
    }

    func text(_ value: Double) -> String {
        value.text(digits)
    }
}
