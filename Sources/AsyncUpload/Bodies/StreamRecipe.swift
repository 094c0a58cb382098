import Foundation

/// Where the bytes of a stream go as they are made.
protocol BodySink: Sendable {
    /// Takes in the next bytes, and suspends while there is no room for more.
    ///
    /// - Throws: when nothing more is wanted: the upload has ended, or the stream is longer than it said.
    func write(_ bytes: Data) async throws
}

/// How the bytes of a stream are made; what ``UploadBody`` holds of one.
///
/// Copies of a body share it, so that a sequence that can be read only once is read only once.
final class StreamRecipe: Sendable {
    typealias Production = @Sendable (any BodySink) async throws -> Void

    /// In bytes; `nil` when it is not known beforehand.
    let length: Int64?
    /// Whether they can be made any number of times.
    let isReplayable: Bool
    private let production: Production
    private let wasStarted = Locked(false)

    init(length: Int64?, isReplayable: Bool, production: @escaping Production) {
        self.length = length
        self.isReplayable = isReplayable
        self.production = production
    }

    /// Whether the sequence has been read already and cannot be made anew.
    var isSpent: Bool {
        !isReplayable && wasStarted.withLock { $0 }
    }

    /// How the bytes are made, from the first one.
    ///
    /// - Throws: ``UploadError/Code-swift.struct/bodyNotReplayable`` when they can be made once only, and were.
    func begin() throws -> Production {
        let isFirst = wasStarted.withLock { wasStarted in
            defer { wasStarted = true }
            return !wasStarted
        }
        guard isFirst || isReplayable else { throw UploadError(.bodyNotReplayable) }
        return production
    }
}

extension StreamRecipe {
    /// How many single bytes are put together before they are handed on.
    static let pieceSize = 16 << 10
    /// How many bytes of a source are handed on at a time.
    private static let copySize = 64 << 10

    /// Hands on the bytes of a source.
    static func send(_ source: any BodySource, to sink: any BodySink) async throws {
        var position: Int64 = 0
        if source.length == 0 { try source.checkUnchanged() }
        while position < source.length {
            var piece = Data(count: Int(min(Int64(copySize), source.length - position)))
            let count = try piece.withUnsafeMutableBytes { try source.read(into: $0, at: position) }
            try await sink.write(count == piece.count ? piece : piece.prefix(count))
            position += Int64(count)
        }
    }

    /// Hands on the pieces of a sequence.
    static func send<Pieces: AsyncSequence>(_ pieces: Pieces, to sink: any BodySink) async throws
    where Pieces.Element == Data {
        for try await piece in pieces { try await sink.write(piece) }
    }

    /// Puts the bytes of a sequence together and hands them on.
    static func send<Bytes: AsyncSequence>(_ bytes: Bytes, to sink: any BodySink) async throws
    where Bytes.Element == UInt8 {
        var piece = Data(capacity: pieceSize)
        for try await byte in bytes {
            piece.append(byte)
            guard piece.count == pieceSize else { continue }
            try await sink.write(piece)
            piece.removeAll(keepingCapacity: true)
        }
        try await sink.write(piece)
    }
}

/// Holds a stream to the length that was said.
struct LengthCheck {
    let expected: Int64?
    private(set) var count: Int64 = 0

    init(_ expected: Int64?) {
        self.expected = expected
    }

    /// More bytes are there.
    mutating func take(_ more: Int) throws {
        count += Int64(more)
        if let expected, count > expected {
            throw UploadError(.bodyLengthMismatch, detail: "more than the \(expected) bytes that were said")
        }
    }

    /// There are no more.
    func finish() throws {
        if let expected, count < expected {
            throw UploadError(.bodyLengthMismatch, detail: "\(count) of the \(expected) bytes that were said")
        }
    }
}

extension UploadError {
    /// The error for a stream that could not be made to its end. What is not about a body is another upload's.
    static func producing(_ error: any Error) -> UploadError {
        let ours: Set<Code> = [
            .bodyLengthMismatch, .bodyNotReplayable, .bodyUnreadable, .fileChanged, .fileNotFound, .notARegularFile,
            .permissionDenied, .temporaryFileFailed,
        ]
        if let error = error as? UploadError, ours.contains(error.code) { return error }
        return UploadError(.bodyUnreadable, detail: error.localizedDescription, underlying: error)
    }
}
