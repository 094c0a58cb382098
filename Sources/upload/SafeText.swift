import Foundation

/// Text from outside, made fit for one line of a terminal.
enum SafeText {
    /// Without what could move the cursor, start a line or turn the writing direction around.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where isUnsafe(scalar): result += "\\u{\(String(scalar.value, radix: 16))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Without the user and the password of a URL, whether it is a valid one or not.
    static func withoutPassword(_ text: String) -> String {
        guard let scheme = text.range(of: "://") else { return text }
        let rest = text[scheme.upperBound...]
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        guard let at = rest[..<end].lastIndex(of: "@") else { return text }
        return String(text[..<scheme.upperBound] + rest[rest.index(after: at)...])
    }

    /// With a question mark for each character that is not ASCII.
    static func ascii(_ text: String) -> String {
        String(text.map { $0.isASCII ? $0 : "?" })
    }

    /// How many columns it takes, at most.
    static func width(of text: String) -> Int {
        text.unicodeScalars.reduce(0) { $0 + width(of: $1) }
    }

    /// The beginning and the end, so that the whole takes `limit` columns at most.
    static func shortened(_ text: String, to limit: Int, ellipsis: String) -> String {
        guard width(of: text) > limit else { return text }
        let room = limit - width(of: ellipsis)
        guard room > 0 else { return String(ellipsis.prefix(max(0, limit))) }
        let tail = prefix(text.reversed(), columns: room / 2).reversed()
        let head = prefix(Array(text), columns: room - width(of: String(tail)))
        return String(head) + ellipsis + String(tail)
    }

    private static func prefix(_ characters: [Character], columns: Int) -> [Character] {
        var left = columns
        return Array(
            characters.prefix { character in
                left -= width(of: String(character))
                return left >= 0
            }
        )
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate: true
        // Of these, only the joiners are at home in names.
        case .format: scalar.value != 0x200c && scalar.value != 0x200d
        default: false
        }
    }

    private static func width(of scalar: Unicode.Scalar) -> Int {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        switch scalar.value {
        case 0x1100...0x115f, 0x2e80...0x303e, 0x3041...0xa4cf, 0xac00...0xd7a3, 0xf900...0xfaff, 0xfe30...0xfe6f,
            0xff00...0xff60, 0xffe0...0xffe6, 0x20000...0x3fffd:
            return 2
        default: return scalar.properties.isEmojiPresentation ? 2 : 1
        }
    }
}
