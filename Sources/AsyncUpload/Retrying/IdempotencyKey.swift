import Foundation

/// Where the `Idempotency-Key` of a request comes from: by it a server knows a request that it has already acted on
/// (the IETF's draft "The Idempotency-Key HTTP Header Field").
///
/// A POST or PATCH that has one may be repeated like a PUT; see ``RetryPolicy``. The server must know the field.
public enum IdempotencyKey: Sendable, Hashable {
    /// From whoever makes the request.
    case ofRequest
    /// A request that is not idempotent and has none gets one: a random UUID for each upload, the same in all its attempts.
    case automatic

    static let fieldName = "Idempotency-Key"

    /// Gives a request its key, if it is to have one.
    func apply(to request: inout URLRequest) {
        guard self == .automatic, !request.isIdempotent else { return }
        // A string of RFC 9651, as the draft wants it.
        request.setValue("\"\(UUID().uuidString)\"", forHTTPHeaderField: Self.fieldName)
    }
}
