import Foundation

/// Header fields of a response (RFC 9110 §5): names are compared without regard to case, and a name may come several times.
public struct HTTPFields: Sendable {
    private var fields: [(name: String, value: String)] = []

    /// No fields.
    public init() {}

    /// The fields of a response. Repeated fields have been joined with commas by `URLSession`.
    init(_ response: HTTPURLResponse) {
        for (name, value) in response.allHeaderFields {
            guard let name = name as? String, let value = value as? String else { continue }
            append(value, for: name)
        }
        fields.sort { $0.name.lowercased() < $1.name.lowercased() }
    }

    /// The value of the field, or `nil`; values of fields with the same name are joined with a comma (RFC 9110 §5.3).
    ///
    /// Assigning replaces every field of that name, and `nil` removes them.
    public subscript(name: String) -> String? {
        get {
            var joined: String?
            for field in fields where field.name.isSame(ignoringCaseOf: name) {
                joined = joined.map { "\($0), \(field.value)" } ?? field.value
            }
            return joined
        }
        set {
            let first = fields.firstIndex { $0.name.isSame(ignoringCaseOf: name) }
            let spelling = first.map { fields[$0].name } ?? name
            fields.removeAll { $0.name.isSame(ignoringCaseOf: name) }
            guard let newValue else { return }
            fields.insert((spelling, newValue), at: first ?? fields.endIndex)
        }
    }

    /// The values of the fields with that name, in the order in which they came, as with `Set-Cookie`, whose values cannot
    /// be joined (RFC 9110 §5.3).
    ///
    /// `URLSession` gives one, with values joined or left out.
    public func values(for name: String) -> [String] {
        fields.filter { $0.name.isSame(ignoringCaseOf: name) }.map(\.value)
    }

    /// Adds a field behind those that are there.
    public mutating func append(_ value: String, for name: String) {
        fields.append((name, value))
    }

    /// Makes the last field's value longer.
    mutating func appendToLast(_ text: String) {
        guard let last = fields.indices.last else { return }
        fields[last].value += text
    }
}

extension HTTPFields: Hashable {
    /// Whether both have the same values for the same names, in whatever order the names come.
    public static func == (one: HTTPFields, other: HTTPFields) -> Bool {
        one.valuesByName == other.valuesByName
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(valuesByName)
    }

    private var valuesByName: [String: [String]] {
        Dictionary(grouping: fields) { String(decoding: $0.name.utf8.map(\.lowercasedASCII), as: UTF8.self) }.mapValues
        { $0.map(\.value) }
    }
}

extension HTTPFields: Sequence {
    /// The fields in the order in which they came; with `URLSession`, sorted by name.
    public func makeIterator() -> IndexingIterator<[(name: String, value: String)]> {
        fields.makeIterator()
    }
}
