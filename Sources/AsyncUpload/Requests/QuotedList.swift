/// Lists in header fields, whose separators do not count inside quoted strings (RFC 9110 §5.6.4).
enum QuotedList {
    /// The elements between the separators, as they are.
    static func elements(of list: some StringProtocol, separatedBy separator: Character) -> [String] {
        var elements = [""]
        var isQuoted = false
        var isEscaped = false
        for character in list {
            if character == separator, !isQuoted {
                elements.append("")
                continue
            }
            if character == "\"", !isEscaped { isQuoted.toggle() }
            isEscaped = isQuoted && character == "\\" && !isEscaped
            elements[elements.count - 1].append(character)
        }
        return elements
    }
}
