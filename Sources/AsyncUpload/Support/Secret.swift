/// A value that stays out of logs: neither its description nor a dump shows it.
struct Secret<Value: Sendable>: Sendable {
    var value: Value?
}

extension Secret: Equatable where Value: Equatable {}

extension Secret: Hashable where Value: Hashable {}

extension Secret: CustomStringConvertible, CustomReflectable {
    var description: String { value == nil ? "nil" : "(hidden)" }

    var customMirror: Mirror { Mirror(self, children: []) }
}
