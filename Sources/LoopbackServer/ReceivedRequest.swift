public import Foundation

/// A request as the server has received it so far.
public struct ReceivedRequest: Sendable {
    /// The place among all requests of the server, from 0.
    public let index: Int
    /// The number of the connection it came on, from 0.
    public let connection: Int
    /// The head exactly as received, decoded as ISO-8859-1, with the blank line at its end.
    public let head: String
    /// The method, as sent.
    public let method: String
    /// The request target, as sent.
    public let target: String
    /// The target's path, without a query; not percent-decoded.
    public let path: String
    /// The header fields in order.
    public let fields: [(name: String, value: String)]

    /// Bytes of the decoded body received so far.
    public internal(set) var bodyByteCount: Int64 = 0
    /// Bytes of the body on the wire received so far, with the chunks' framing.
    public internal(set) var rawBodyByteCount: Int64 = 0
    /// Bytes that followed a complete body on the connection and were not a request: found when the server
    /// rejects them as one, or when the connection ends with them. They are answered with 400, not recorded as a
    /// request.
    public internal(set) var excess: Int64 = 0
    /// The body, if the handler asked to keep it: set when it is complete, the request is answered or the exchange over.
    public internal(set) var body: Data?
    /// The ``BodyDigest`` of the body when it is complete and the handler asked for it throughout.
    public internal(set) var digest: UInt64?
    /// Whether the body was received to its end.
    public internal(set) var isComplete = false
    /// The final status, from just before it is sent.
    public internal(set) var status: Int?
    /// Whether the exchange is over.
    public internal(set) var ended = false

    init(index: Int, connection: Int, head: RequestHead) {
        self.index = index
        self.connection = connection
        self.head = head.text
        method = head.method
        target = head.target
        path = head.path
        fields = head.fields
    }

    /// The first value of the header field called `name`, in any case.
    public func header(_ name: String) -> String? {
        fields.first { $0.name.caseInsensitiveCompare(name) == .orderedSame }?.value
    }

    /// All values of the header field called `name`, in any case.
    public func headers(_ name: String) -> [String] {
        fields.filter { $0.name.caseInsensitiveCompare(name) == .orderedSame }.map(\.value)
    }
}
