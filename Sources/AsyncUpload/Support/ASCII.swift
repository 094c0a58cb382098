extension UInt8 {
    /// Whether it is an ASCII letter or digit.
    var isAlphanumericASCII: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    var lowercasedASCII: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}

extension String {
    /// Whether two names or tokens are the same, ASCII letters in any case (RFC 9110 §5.1).
    ///
    /// What Foundation has for that knows every script, and is a good part of the cost of a small upload.
    func isSame(ignoringCaseOf other: String) -> Bool {
        utf8.count == other.utf8.count
            && zip(utf8, other.utf8).allSatisfy { $0.lowercasedASCII == $1.lowercasedASCII }
    }
}
