import Foundation

/// Reads elements out of the XML that Amazon S3 and its kin answer with. Pure.
///
/// Tolerant: prefixes, attributes, comments and what else there is are passed over, and nothing is checked against
/// anything. An element that is not closed is none, which is how a text that was cut off shows.
struct XMLText {
    private enum Token {
        case opening(name: Substring, isEmpty: Bool)
        case closing(name: Substring)
    }

    private let text: Substring

    init(_ data: Data) {
        text = String(decoding: data, as: UTF8.self)[...]
    }

    private init(_ text: Substring) {
        self.text = text
    }

    /// The outermost element's name, without a prefix.
    var root: String? {
        var rest = text
        while let (token, _) = Self.next(in: &rest) {
            if case .opening(let name, _) = token { return String(name) }
        }
        return nil
    }

    /// The first element of that name, wherever it is.
    func element(_ name: String) -> XMLText? {
        elements(name, limit: 1).first
    }

    /// The elements of that name, wherever they are, but not those inside of each other.
    func elements(_ wanted: String, limit: Int = .max) -> [XMLText] {
        var elements: [XMLText] = []
        var rest = text
        var depth = 0
        var start = text.startIndex
        while elements.count < limit, let (token, place) = Self.next(in: &rest) {
            switch token {
            case .opening(wanted[...], let isEmpty):
                if depth == 0 { start = place.upperBound }
                if !isEmpty {
                    depth += 1
                } else if depth == 0 {
                    elements.append(XMLText(text[start..<start]))
                }
            case .closing(wanted[...]) where depth > 0:
                depth -= 1
                if depth == 0 { elements.append(XMLText(text[start..<place.lowerBound])) }
            default: break
            }
        }
        return elements
    }

    /// What is in it, if that is text, with its references replaced by their characters.
    var content: String {
        HTMLEntities.decoded(text.trimmingCharacters(in: .whitespacesAndNewlines))
    }

    /// The text as an element may have it.
    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }

    /// The next tag, and where it is; `rest` is what is behind it.
    private static func next(in rest: inout Substring) -> (Token, Range<Substring.Index>)? {
        while let start = rest.utf8.firstIndex(of: UInt8(ascii: "<")) {
            rest = rest[start...]
            if rest.utf8.starts(with: "<!--".utf8) {
                guard skip(past: "-->", in: &rest) else { return nil }
                continue
            }
            guard let end = rest.utf8.firstIndex(of: UInt8(ascii: ">")) else { return nil }
            let inside = rest[start..<end].dropFirst()
            let place = start..<rest.utf8.index(after: end)
            rest = rest[place.upperBound...]
            switch inside.utf8.first {
            case UInt8(ascii: "?"), UInt8(ascii: "!"): continue
            case UInt8(ascii: "/"): return (.closing(name: name(inside.dropFirst())), place)
            default:
                let isEmpty = inside.utf8.last == UInt8(ascii: "/")
                return (.opening(name: name(isEmpty ? inside.dropLast() : inside), isEmpty: isEmpty), place)
            }
        }
        return nil
    }

    private static func skip(past mark: String, in rest: inout Substring) -> Bool {
        guard let range = rest.firstRange(of: mark) else { return false }
        rest = rest[range.upperBound...]
        return true
    }

    private static func name(_ tag: Substring) -> Substring {
        let name = tag.prefix { !$0.isWhitespace }
        return name.lastIndex(of: ":").map { name[name.index(after: $0)...] } ?? name
    }
}
