/// Reads the value of `-F`, in curl's syntax: `name=text`, `name=@file,file`, `name=<file`, each with `;type=…` and
/// `;filename=…` behind it, and with values that may stand in quotes.
///
/// What curl skips with a warning is an error here: it would be missing in what is sent.
struct FormArgument {
    private struct Value {
        var text: String
        var type: String?
        var filename: String?
    }

    private let name: String
    private var rest: ArraySlice<UInt8>

    /// The parts that the argument stands for: several for several files.
    static func parts(_ text: String) throws(UsageError) -> [FormPart] {
        let (name, value) = try FormPart.split(text, of: .form)
        var argument = FormArgument(name: name, rest: Array(value.utf8)[...])
        switch value.utf8.first {
        case UInt8(ascii: "@"): return try argument.files()
        case UInt8(ascii: "<"): return [try argument.contents()]
        case UInt8(ascii: "("):
            throw argument.error("nested forms cannot be sent; for a text that begins with ( use --form-string")
        default:
            let value = try argument.value(until: nil)
            return [
                FormPart(
                    name: name,
                    origin: .text(value.text),
                    filename: value.filename,
                    contentType: value.type
                )
            ]
        }
    }

    private mutating func files() throws(UsageError) -> [FormPart] {
        var parts: [FormPart] = []
        repeat {
            // The @, and later the commas.
            rest = rest.dropFirst()
            let file = try value(until: UInt8(ascii: ","))
            guard !file.text.isEmpty else { throw error("@ needs the path of a file") }
            parts.append(
                FormPart(
                    name: name,
                    origin: Origin(path: file.text),
                    filename: file.filename ?? FilePath.name(file.text),
                    contentType: file.type
                )
            )
        } while !rest.isEmpty
        return parts
    }

    private mutating func contents() throws(UsageError) -> FormPart {
        rest = rest.dropFirst()
        let file = try value(until: nil)
        guard !file.text.isEmpty else { throw error("< needs the path of a file") }
        guard file.filename == nil else { throw error("filename= does not go with <; @ sends a file with a name") }
        return FormPart(name: name, origin: Origin(path: file.text), contentType: file.type)
    }

    // MARK: Values

    /// A value and what is said about it, up to the end or a mark.
    private mutating func value(until end: UInt8?) throws(UsageError) -> Value {
        skipBlanks()
        var value = Value(text: try word(until: end))
        // What follows a type may belong to it: text/plain; charset=utf-8.
        var isInType = false
        while rest.first == UInt8(ascii: ";") {
            let beginning = rest
            rest = rest.dropFirst()
            skipBlanks()
            if !isInType, take("type=") {
                value.type = try type(until: end)
                isInType = true
            } else if take("filename=") {
                skipBlanks()
                value.filename = try word(until: end)
                isInType = false
            } else if take("headers=") || take("encoder=") {
                throw error("headers= and encoder= are not supported")
            } else if isInType {
                rest = beginning.dropFirst()
                let parameter = Self.text(section(until: end))
                guard !Self.hasControlCharacter(parameter) else {
                    throw error("the type has a control character in it")
                }
                if !parameter.isEmpty { value.type?.append(";" + parameter) }
            } else {
                let other = try word(until: end)
                let advice = "put a value with ; or , into double quotes, or use --form-string"
                guard other.isEmpty else {
                    throw error("\(other.debugDescription) after ; is neither type= nor filename=; \(advice)")
                }
            }
        }
        return value
    }

    private mutating func type(until end: UInt8?) throws(UsageError) -> String {
        skipBlanks()
        let type = Self.text(section(until: end))
        let halves = type.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2, halves.allSatisfy({ ArgumentValue.isToken($0) }) else {
            throw error("type= needs a media type such as text/plain, not \(type.debugDescription)")
        }
        return type
    }

    /// What stands in quotes, or else what comes before the next `;` or the mark.
    private mutating func word(until end: UInt8?) throws(UsageError) -> String {
        if rest.first == UInt8(ascii: "\""), let word = try quotedWord(until: end) { return word }
        return Self.text(section(until: end))
    }

    /// Without its quotes and the backslashes before a quote or a backslash; `nil` without a closing quote, which makes
    /// the first one a character like any other.
    private mutating func quotedWord(until end: UInt8?) throws(UsageError) -> String? {
        var bytes: [UInt8] = []
        var left = rest.dropFirst()
        while let byte = left.popFirst() {
            switch (byte, left.first) {
            case (UInt8(ascii: "\\"), UInt8(ascii: "\\")?), (UInt8(ascii: "\\"), UInt8(ascii: "\"")?):
                bytes += left.prefix(1)
                left = left.dropFirst()
            case (UInt8(ascii: "\""), _):
                rest = left
                skipBlanks()
                guard rest.isEmpty || rest.first == UInt8(ascii: ";") || rest.first == end else {
                    throw error("there is something behind the closing quote")
                }
                return String(decoding: bytes, as: UTF8.self)
            default: bytes.append(byte)
            }
        }
        return nil
    }

    // MARK: Bytes

    /// By bytes: a combining mark would hide what stands before it.
    private mutating func section(until end: UInt8?) -> ArraySlice<UInt8> {
        let section = rest.prefix { $0 != UInt8(ascii: ";") && $0 != end }
        rest = rest[section.endIndex...]
        return section
    }

    private mutating func skipBlanks() {
        rest = rest.drop(while: Self.isBlank)
    }

    /// In any case, as in curl.
    private mutating func take(_ keyword: String) -> Bool {
        let start = rest.prefix(keyword.utf8.count)
        guard String(decoding: start, as: UTF8.self).lowercased() == keyword else { return false }
        rest = rest[start.endIndex...]
        return true
    }

    /// Without the blanks at its end.
    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        var bytes = bytes
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || (9...13).contains(byte)
    }

    private static func hasControlCharacter(_ text: String) -> Bool {
        text.utf8.contains { $0 < 0x20 || $0 == 0x7f }
    }

    private func error(_ what: String) -> UsageError {
        UsageError("-F \(name): \(what)")
    }
}
