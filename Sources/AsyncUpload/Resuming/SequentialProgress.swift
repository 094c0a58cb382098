/// Where an upload stands that sends one request at a time.
///
/// Counts what the server can have at most, so that it is not believed when it claims more.
struct SequentialProgress: Sendable {
    /// The server has so many bytes for certain.
    private(set) var offset: Int64 = 0
    /// No more bytes than these have ever been handed over.
    private(set) var limit: Int64 = 0
    /// How often in a row a request was answered without anything having moved.
    private(set) var idleCount = 0
    private var best: Int64 = 0

    /// More than any body has, and small enough to be added to.
    private static let largestOffset: Int64 = 1 << 50

    /// - Parameter limit: how much an earlier process may have sent.
    init(limit: Int64 = 0) {
        self.limit = limit
    }

    /// Bytes from `start` on were handed over.
    mutating func sent(_ count: Int64, from start: Int64) {
        limit = max(limit, start + max(0, count))
    }

    /// The server says how many bytes it has. That always counts, unless they cannot be.
    ///
    /// - Parameters:
    ///   - length: of the body; `nil` when it is not known.
    ///   - part: what was just sent, and is answered by that.
    /// - Throws: ``UploadError/Code-swift.struct/protocolViolation``.
    mutating func confirm(_ count: Int64, length: Int64?, after part: Range<Int64>? = nil) throws {
        // Whatever was sent earlier, by another process perhaps: nothing lies behind what was just sent.
        let limit = min(limit, part?.upperBound ?? .max, Self.largestOffset)
        if let length, count > length {
            throw UploadError(.protocolViolation, detail: "it claims \(count) bytes of a body of \(length)")
        }
        guard count <= limit else {
            throw UploadError(.protocolViolation, detail: "it claims \(count) bytes, \(limit) were sent")
        }
        idleCount = count > best ? 0 : idleCount + 1
        best = max(best, count)
        offset = count
    }

    /// The server has all of it, by its own account of what has become of that.
    mutating func complete(_ length: Int64) {
        offset = length
    }

    /// The upload begins anew.
    mutating func reset() {
        (offset, limit, best, idleCount) = (0, 0, 0, 0)
    }
}

extension UploadError {
    /// The error for a body that ends before what the server has of it.
    static func shorter(_ length: Int64, than offset: Int64) -> UploadError {
        UploadError(.bodyLengthMismatch, detail: "the server has \(offset) bytes of a body of \(length)")
    }
}
