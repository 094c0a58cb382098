/// Reads the values of options.
enum ArgumentValue {
    static func method(_ text: String) throws(UsageError) -> String {
        guard isToken(text) else { throw UsageError("-X needs a method, not \(text.debugDescription)") }
        guard !["GET", "HEAD", "TRACE"].contains(text.uppercased()) else {
            throw UsageError("\(text) does not send anything; use PUT, POST or PATCH")
        }
        return text
    }

    static func header(_ text: String) throws(UsageError) -> Options.HeaderField {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            throw UsageError("-H needs 'Name: value'")
        }
        let name = String(text[..<colon])
        guard isToken(name) else { throw UsageError("\(name.debugDescription) is not the name of a header") }
        let value = text[text.utf8.index(after: colon)...]
        guard !value.unicodeScalars.contains(where: { $0.value < 0x20 && $0 != "\t" || $0.value == 0x7f }) else {
            throw UsageError("the value of the header \(name) has a control character in it")
        }
        let trimmed = trimmingBlanks(value)
        return Options.HeaderField(name: name, value: trimmed.isEmpty ? nil : trimmed)
    }

    static func user(_ text: String) throws(UsageError) -> Options.Authorization {
        // The text itself stays out of the message: it may be half a password.
        guard let colon = text.firstIndex(of: ":") else { throw UsageError("-u needs NAME:PASSWORD") }
        return .basic(user: String(text[..<colon]), password: String(text[text.index(after: colon)...]))
    }

    static func bearer(_ text: String) throws(UsageError) -> Options.Authorization {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw UsageError("--bearer needs a token without blanks")
        }
        return .bearer(text)
    }

    /// -1 stands for no limit, as in curl.
    static func redirectLimit(_ text: String) throws(UsageError) -> Int {
        if text == "-1" { return .max }
        guard let limit = number(text) else {
            throw UsageError("--max-redirs needs a number, not \(text.debugDescription)")
        }
        return limit
    }

    static func retryLimit(_ text: String) throws(UsageError) -> Int {
        guard let limit = number(text) else {
            throw UsageError("--retry needs a number, 0 for none, not \(text.debugDescription)")
        }
        return limit
    }

    static func parallel(_ text: String) throws(UsageError) -> Int {
        guard let count = number(text), (1...300).contains(count) else {
            throw UsageError("-P needs a number from 1 to 300, not \(text.debugDescription)")
        }
        return count
    }

    static func transport(_ text: String) throws(UsageError) -> Options.Transport {
        guard let transport = Options.Transport(rawValue: text) else {
            throw UsageError("--transport is urlsession or curl, not \(text.debugDescription)")
        }
        return transport
    }

    static func resumable(_ text: String) throws(UsageError) -> Options.Resumable {
        guard let resumable = Options.Resumable(rawValue: text) else {
            throw UsageError("--resumable is tus, ietf, gcs or s3, not \(text.debugDescription)")
        }
        return resumable
    }

    static func partURLs(_ text: String) throws(UsageError) -> Options.PartURLOrigin {
        guard text.utf8.first == UInt8(ascii: "@") else {
            guard !text.isEmpty else { throw UsageError("--part-urls needs @FILE or a command") }
            return .command(text)
        }
        guard text != "@" else { throw UsageError("--part-urls @ needs a path") }
        return .file(String(decoding: text.utf8.dropFirst(), as: UTF8.self))
    }

    static func path(_ text: String, of flag: Flag) throws(UsageError) -> String {
        guard !text.isEmpty else { throw UsageError("--\(flag.rawValue) needs the name of a file") }
        return text
    }

    static func seconds(_ text: String, of flag: Flag) throws(UsageError) -> Double {
        guard let seconds = decimal(text[...]), seconds > 0 else {
            throw UsageError("--\(flag.rawValue) needs a number of seconds above 0, not \(text.debugDescription)")
        }
        return seconds
    }

    /// In bytes per second. As in curl, K stands for 1024 and the other letters for its powers.
    static func rate(_ text: String) throws(UsageError) -> Int64 {
        let exponents: [Character: Int] = ["K": 10, "k": 10, "M": 20, "m": 20, "G": 30, "g": 30]
        let exponent = text.last.flatMap { exponents[$0] }
        let number = exponent == nil ? text[...] : text.dropLast()
        let factor = Double(1 << (exponent ?? 0))
        guard let rate = decimal(number).flatMap({ Int64(exactly: ($0 * factor).rounded(.down)) }), rate > 0 else {
            let wish = "--limit-rate needs bytes per second, such as 50000, 500K or 1.5M"
            throw UsageError("\(wish), not \(text.debugDescription)")
        }
        return rate
    }

    /// Digits with or without a fraction: the standard library would take signs, exponents and words, too.
    private static func decimal(_ text: Substring) -> Double? {
        let isPlain = text.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
        return isPlain ? Double(text).flatMap { $0.isFinite ? $0 : nil } : nil
    }

    /// Only digits: the standard library would take a sign, too.
    private static func number(_ text: String) -> Int? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
    }

    /// RFC 9110 §5.6.2.
    static func isToken(_ text: some StringProtocol) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    private static func trimmingBlanks(_ text: Substring) -> String {
        let isBlank: (Unicode.Scalar) -> Bool = { $0 == " " || $0 == "\t" }
        var scalars = text.unicodeScalars.drop(while: isBlank)
        while let last = scalars.last, isBlank(last) { scalars.removeLast() }
        return String(scalars)
    }
}
