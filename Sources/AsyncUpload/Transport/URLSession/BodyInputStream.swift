import Foundation

/// What the streams of one exchange share: the source they read and how far they have come.
final class BodyReader: Sendable {
    private struct State {
        var position: Int64 = 0
        var failure: (any Error)?
    }

    let source: any BodySource
    private let mayRepeat: Bool
    private let state = Locked(State())
    private let onFailure: @Sendable (any Error) -> Void

    /// - Parameters:
    ///   - mayRepeat: whether the library may send the body again by itself, after the connection was lost.
    ///   - onFailure: called at most once, when the source cannot be read or may not be read again.
    init(_ source: any BodySource, mayRepeat: Bool, onFailure: @escaping @Sendable (any Error) -> Void) {
        self.source = source
        self.mayRepeat = mayRepeat
        self.onFailure = onFailure
    }

    /// How many bytes the newest stream has handed out.
    var position: Int64 {
        state.withLock { $0.position }
    }

    /// A new stream over the whole body. The library asks for one whenever it has to send the body from its start.
    func makeStream() -> InputStream {
        let isRepeated = state.withLock { state in
            defer { state.position = 0 }
            return state.position > 0
        }
        if isRepeated, !mayRepeat { fail(UploadError.lostAfterSending) }
        return BodyInputStream(self)
    }

    /// - Returns: the count of bytes read, 0 at the end, -1 on failure, as `InputStream` wants it.
    fileprivate func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        guard state.withLock({ $0.failure == nil }) else { return -1 }
        do {
            let count = try source.read(into: buffer, at: offset)
            state.withLock { $0.position = offset + Int64(count) }
            return count
        } catch {
            fail(error)
            return -1
        }
    }

    private func fail(_ error: any Error) {
        let isFirst = state.withLock { state in
            defer { state.failure = state.failure ?? error }
            return state.failure == nil
        }
        if isFirst { onFailure(error) }
    }
}

/// A stream over a body source, for `uploadTask(withStreamedRequest:)` on Linux.
///
/// It is read on the session's own queue, one call at a time, and reading never waits for anything but the disk:
/// a read that waits would hold up every task of the session.
final class BodyInputStream: InputStream {
    private let reader: BodyReader
    private var offset: Int64 = 0
    private var status = Stream.Status.notOpen

    fileprivate init(_ reader: BodyReader) {
        self.reader = reader
        super.init(data: Data())
    }

    override func open() { status = .open }
    override func close() { status = .closed }
    override var streamStatus: Stream.Status { status }
    override var streamError: (any Error)? { nil }

    /// `false` is taken for the end of the body.
    override var hasBytesAvailable: Bool { offset < reader.source.length }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
        let count = reader.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: length), at: offset)
        if count > 0 { offset += Int64(count) }
        return count
    }
}
