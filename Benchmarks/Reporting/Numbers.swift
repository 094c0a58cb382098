import Foundation

// How tables, charts and verdicts write numbers.

extension Double {
    /// With three significant digits, and whole from a hundred on, as in "1.02", "98.7" or "1234".
    var shortText: String {
        text(shortDigits)
    }

    /// As in a file that people have written: "0.95" or "16".
    var plainText: String {
        let text = "\(self)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// How many digits after the point make three significant ones.
    fileprivate var shortDigits: Int {
        guard isFinite, self != 0 else { return 0 }
        var digits = 0
        // From here on it is shown as at least 100.
        var bound = 99.95
        while magnitude < bound, digits < 9 {
            digits += 1
            bound /= 10
        }
        return digits
    }
}

extension Spread {
    /// With as many digits after the point as the median needs: "12.3 (11.9..13.0)".
    var shortText: String {
        text(upTo: shortDigits)
    }

    /// "x 1.02 (0.98..1.10)".
    var ratioText: String {
        "x \(text(upTo: ratioDigits))"
    }

    var shortDigits: Int {
        median.shortDigits
    }

    /// Below one, two significant digits do, so that 0.98 and 1.02 are equally long.
    var ratioDigits: Int {
        median.magnitude < 0.9995 ? max(2, shortDigits - 1) : shortDigits
    }

    /// Only the median where no value differs from it.
    func text(upTo digits: Int) -> String {
        least < most ? text(digits) : median.text(digits)
    }

    var isFinite: Bool {
        least.isFinite && median.isFinite && most.isFinite
    }
}

extension Int64 {
    /// A size in bytes, as in "64 MiB" or "1.5 GiB".
    var binarySizeText: String {
        var value = Double(self)
        var units = ["bytes", "KiB", "MiB", "GiB", "TiB"][...]
        while value >= 1024, units.count > 1 {
            value /= 1024
            units.removeFirst()
        }
        // Three significant digits without zeros at the end, but never an exponent.
        let number = value >= 100 ? value.text(0) : String(format: "%.3g", value)
        return "\(number) \(units.first ?? "")"
    }
}
