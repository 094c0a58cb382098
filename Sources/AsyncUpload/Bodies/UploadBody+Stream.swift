public import Foundation

/// Bodies that are sent as they are made.
///
/// With libcurl a stream goes out while it is made. Up to 256 KiB and one piece wait to be sent; whoever makes the bytes
/// is suspended while there is no room for more, and the connection waits while there are none, without holding up
/// anything else. `URLSession` cannot do that: there the stream goes into a temporary file first, and is sent when its end
/// has been reached.
///
/// A stream whose length is not known is sent in chunks (RFC 9112 §7.1), or with its length if it went through a file. Its
/// progress is 0 until its end. The stream is read in a task of its own, which is cancelled when the upload ends. An error
/// from it fails the upload with ``UploadError/Code-swift.struct/bodyUnreadable`` and that error as the underlying one, and
/// the server never sees the request end.
///
/// A `length` is sent as `Content-Length` and is a promise: the upload fails with
/// ``UploadError/Code-swift.struct/bodyLengthMismatch`` when the stream gives more bytes or fewer. The last byte goes out when
/// the sequence has ended, and not before, so that no server ever takes a wrong body for a right one.
extension UploadBody {
    /// The pieces of a sequence that is read once.
    ///
    /// A redirect, a challenge or anything else that needs the body again fails the upload with
    /// ``UploadError/Code-swift.struct/bodyNotReplayable``; so does a second upload of the same body. Give a closure that makes
    /// the sequence where that is possible.
    ///
    /// - Parameters:
    ///   - pieces: what to send, in pieces of any size.
    ///   - length: how many bytes these are; `nil` when it is not known.
    public static func stream<Pieces: AsyncSequence & Sendable>(_ pieces: Pieces, length: Int64? = nil) -> UploadBody
    where Pieces.Element == Data {
        UploadBody(StreamRecipe(length: length, isReplayable: false) { try await StreamRecipe.send(pieces, to: $0) })
    }

    /// The bytes of a sequence that is read once; they are sent in pieces of 16 KiB.
    ///
    /// - Parameters:
    ///   - bytes: what to send.
    ///   - length: how many bytes these are; `nil` when it is not known.
    public static func stream<Bytes: AsyncSequence & Sendable>(_ bytes: Bytes, length: Int64? = nil) -> UploadBody
    where Bytes.Element == UInt8 {
        UploadBody(StreamRecipe(length: length, isReplayable: false) { try await StreamRecipe.send(bytes, to: $0) })
    }

    /// The pieces of a sequence that is made anew whenever the body has to be sent from its start.
    ///
    /// - Parameters:
    ///   - length: how many bytes there are, each time; `nil` when it is not known.
    ///   - makePieces: makes the sequence; what it throws is treated like an error of the sequence.
    public static func stream<Pieces: AsyncSequence & SendableMetatype>(
        length: Int64? = nil,
        _ makePieces: @escaping @Sendable () async throws -> Pieces
    ) -> UploadBody
    where Pieces.Element == Data {
        UploadBody(
            StreamRecipe(length: length, isReplayable: true) { try await StreamRecipe.send(makePieces(), to: $0) }
        )
    }

    /// The bytes of a sequence that is made anew whenever the body has to be sent from its start; they are sent in pieces of
    /// 16 KiB.
    ///
    /// - Parameters:
    ///   - length: how many bytes there are, each time; `nil` when it is not known.
    ///   - makeBytes: makes the sequence; what it throws is treated like an error of the sequence.
    public static func stream<Bytes: AsyncSequence & SendableMetatype>(
        length: Int64? = nil,
        _ makeBytes: @escaping @Sendable () async throws -> Bytes
    ) -> UploadBody
    where Bytes.Element == UInt8 {
        UploadBody(
            StreamRecipe(length: length, isReplayable: true) { try await StreamRecipe.send(makeBytes(), to: $0) }
        )
    }
}
