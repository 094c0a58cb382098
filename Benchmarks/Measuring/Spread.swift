import Foundation

/// The middle of several measurements, and how far they lie apart: on a machine that others use as well, the one says
/// little without the other.
struct Spread {
    let median: Double
    let least: Double
    let most: Double

    /// Not a number as soon as one of the values is none: sorted, it could hide anywhere.
    init(_ values: [Double]) {
        let sorted = values.contains(where: \.isNaN) ? [] : values.sorted()
        guard let least = sorted.first, let most = sorted.last else {
            (median, least, most) = (.nan, .nan, .nan)
            return
        }
        let upper = sorted[sorted.count / 2]
        median = sorted.count % 2 == 1 ? upper : (upper + sorted[sorted.count / 2 - 1]) / 2
        (self.least, self.most) = (least, most)
    }

    /// The same for values that a rising function gives for these.
    func map(_ transform: (Double) -> Double) -> Spread {
        Spread([least, median, most].map(transform))
    }

    /// As in "1.02 (0.98..1.10)".
    func text(_ digits: Int) -> String {
        "\(median.text(digits)) (\(least.text(digits))..\(most.text(digits)))"
    }
}

extension Double {
    func text(_ digits: Int) -> String {
        String(format: "%.\(digits)f", self)
    }
}
