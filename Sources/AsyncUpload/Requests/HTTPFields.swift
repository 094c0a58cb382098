import Foundation

/// Header fields of a response (RFC 9110 §5): names are compared without regard to case.
public struct HTTPFields: Sendable, Hashable {
    private var fields: [String: Field] = [:]

    private struct Field: Hashable {
        let name: String
        var value: String
    }

    /// No fields.
    public init() {}

    /// The fields of a response. Repeated fields have been joined with commas by `URLSession`.
    init(_ response: HTTPURLResponse) {
        for (name, value) in response.allHeaderFields {
            guard let name = name as? String, let value = value as? String else { continue }
            self[name] = value
        }
    }

    /// The value of the field, or `nil`. Assigning `nil` removes it.
    public subscript(name: String) -> String? {
        get { fields[name.lowercased()]?.value }
        set {
            let key = name.lowercased()
            fields[key] = newValue.map { Field(name: fields[key]?.name ?? name, value: $0) }
        }
    }
}

extension HTTPFields: Sequence {
    /// The fields, sorted by name.
    public func makeIterator() -> IndexingIterator<[(name: String, value: String)]> {
        fields.sorted { $0.key < $1.key }.map { (name: $0.value.name, value: $0.value.value) }.makeIterator()
    }
}
