import Foundation

/// The structured fields (RFC 9651) that uploads use. A value that is malformed is none: the field is ignored then.
enum StructuredField {
    /// `?1` or `?0`; parameters are dropped.
    static func boolean(_ text: String?) -> Bool? {
        switch item(text) {
        case "?1": true
        case "?0": false
        default: nil
        }
    }

    /// An integer that is not negative, with up to 15 digits; parameters are dropped.
    static func integer(_ text: String?) -> Int64? {
        guard let item = item(text), item.count <= 15 else { return nil }
        return Int64(decimal: item)
    }

    /// The members of a dictionary that have one of the names.
    ///
    /// - Returns: `nil` when one of them is no integer.
    static func integers(named names: Set<String>, in text: String?) -> [String: Int64]? {
        guard let text else { return nil }
        var members: [String: Int64] = [:]
        for member in split(text, at: ",") {
            let pair = member.split(separator: "=", maxSplits: 1)
            guard let name = pair.first.map(trimmed), names.contains(name) else { continue }
            guard pair.count == 2, let value = integer(String(pair[1])) else { return nil }
            members[name] = value
        }
        return members
    }

    private static func item(_ text: String?) -> String? {
        text.flatMap { split($0, at: ";").first }.map(trimmed)
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        text.trimmingCharacters(in: .whitespaces)
    }

    /// Strings may have the separator in them.
    private static func split(_ text: String, at separator: Character) -> [Substring] {
        var (parts, start, isQuoted, isEscaped) = ([Substring](), text.startIndex, false, false)
        for index in text.indices {
            if isEscaped {
                isEscaped = false
            } else if text[index] == "\\", isQuoted {
                isEscaped = true
            } else if text[index] == "\"" {
                isQuoted.toggle()
            } else if text[index] == separator, !isQuoted {
                parts.append(text[start..<index])
                start = text.index(after: index)
            }
        }
        return parts + [text[start...]]
    }
}
