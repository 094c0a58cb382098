import Foundation

/// A stretch of a stream that is kept in memory, so that it can be sent again.
///
/// It only moves back where the stream can be made anew.
actor StreamWindow {
    private let stream: BodyStream
    private var pipe: BodyPipe?
    private let signal = Signal()
    /// Where the bytes begin that are kept.
    private var start: Int64 = 0
    private var bytes = Data()
    private var hasEnded = false

    init(_ stream: BodyStream) {
        self.stream = stream
    }

    /// Nothing will be read any more.
    func close() {
        pipe?.cancel()
        pipe = nil
        (bytes, hasEnded) = (Data(), true)
    }

    /// Makes the bytes ready from `offset` on, as many as wanted or up to the stream's end. Those before are dropped.
    ///
    /// - Returns: where the ready ones end, and whether that is the stream's end.
    /// - Throws: ``UploadError``, or `CancellationError` when the current task is cancelled.
    func load(from offset: Int64, count: Int) async throws -> (end: Int64, isEnd: Bool) {
        if offset < start { try rewind() }
        while !hasEnded, start + Int64(bytes.count) < offset {
            dropBytes(before: offset)
            try await readMore(atMost: Int(clamping: offset - start - Int64(bytes.count)))
        }
        dropBytes(before: offset)
        while !hasEnded, bytes.count < count { try await readMore(atMost: count - bytes.count) }
        return (start + Int64(bytes.count), hasEnded)
    }

    /// A part of the stream as a body.
    func part(_ range: Range<Int64>) async throws -> any BodySource {
        let count = Int(clamping: range.upperBound - range.lowerBound)
        if range.lowerBound < start || start + Int64(bytes.count) < range.upperBound {
            _ = try await load(from: range.lowerBound, count: count)
        }
        let first = Int(clamping: range.lowerBound - start)
        guard first + count <= bytes.count else {
            throw UploadError(
                .bodyLengthMismatch,
                detail: "\(start + Int64(bytes.count)) bytes, there were more before"
            )
        }
        return DataBodySource(bytes.dropFirst(first).prefix(count))
    }

    private func rewind() throws {
        guard stream.isReplayable else {
            throw UploadError(.bodyNotReplayable, detail: "the server has lost what was sent")
        }
        pipe?.cancel()
        pipe = nil
        (start, bytes, hasEnded) = (0, Data(), false)
    }

    private func dropBytes(before offset: Int64) {
        let count = Int(clamping: min(offset - start, Int64(bytes.count)))
        guard count > 0 else { return }
        // A copy: what is dropped would stay in memory otherwise.
        bytes = Data(bytes.dropFirst(count))
        start += Int64(count)
    }

    private func readMore(atMost limit: Int) async throws {
        let pipe = try pipe ?? openPipe()
        var piece = Data(count: min(limit, BodyPipe.capacity))
        switch piece.withUnsafeMutableBytes({ pipe.read(into: $0) }) {
        case .bytes(let count): bytes += piece.prefix(count)
        case .end: hasEnded = true
        case .failure(let error): throw error
        case .nothingYet: try await signal.wait()
        }
    }

    private func openPipe() throws -> BodyPipe {
        let signal = signal
        let pipe = try stream.start { signal.raise() }
        self.pipe = pipe
        return pipe
    }
}
