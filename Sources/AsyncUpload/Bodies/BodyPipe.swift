import Foundation

/// A bounded buffer between who makes the bytes of a body and who sends them.
///
/// The maker suspends while the buffer is full. The sender never waits: where there is nothing to read it is told so, and
/// is called once there is. A stream whose length was said gives its last byte away only when its maker has ended as well,
/// so that one that lies never makes a complete request.
final class BodyPipe: BodySink {
    /// What a read comes to.
    enum Piece {
        case bytes(Int)
        /// Everything has been read.
        case end
        /// Nothing for now; `onReadable` is called when that changes.
        case nothingYet
        case failure(any Error)
    }

    private struct State {
        var check: LengthCheck
        var pieces: ArraySlice<Data> = []
        /// How many bytes there are in the pieces.
        var count = 0
        var readCount: Int64 = 0
        var end: Result<Void, any Error>?
        var writer: CheckedContinuation<Void, any Error>?
        var isReaderWaiting = false
        var production: Task<Void, Never>?

        /// Pieces that are small are put together, so that they do not cost more than they hold.
        mutating func append(_ bytes: Data) {
            count += bytes.count
            if let last = pieces.indices.last, pieces[last].count + bytes.count <= smallSize {
                pieces[last].append(bytes)
            } else {
                pieces.append(bytes)
            }
        }

        /// How much may be read now.
        var readable: Int {
            guard end == nil, let expected = check.expected, readCount + Int64(count) == expected else { return count }
            return max(0, count - 1)
        }

        mutating func take(into buffer: UnsafeMutableRawBufferPointer, _ wanted: Int) {
            var done = 0
            while done < wanted, let first = pieces.first {
                let part = min(first.count, wanted - done)
                let target = UnsafeMutableRawBufferPointer(rebasing: buffer[done..<(done + part)])
                first.copyBytes(to: target, from: first.startIndex..<(first.startIndex + part))
                done += part
                if part == first.count {
                    // To remove it does not release it.
                    pieces[pieces.startIndex] = Data()
                    pieces.removeFirst()
                } else {
                    pieces[pieces.startIndex] = first.dropFirst(part)
                }
            }
            count -= done
            readCount += Int64(done)
        }

        mutating func takeWriter() -> CheckedContinuation<Void, any Error>? {
            defer { writer = nil }
            return writer
        }

        /// - Returns: whether the reader is to be called.
        mutating func wakesReader() -> Bool {
            guard isReaderWaiting, readable > 0 || end != nil else { return false }
            isReaderWaiting = false
            return true
        }
    }

    /// How many bytes wait to be sent at most, but for one piece.
    static let capacity = 256 << 10
    private static let smallSize = 16 << 10

    private let capacity: Int
    private let onReadable: @Sendable () -> Void
    private let state: Locked<State>

    /// Starts to make the bytes.
    ///
    /// - Parameters:
    ///   - length: how many there must be; `nil` for any number.
    ///   - onReadable: called on any thread when there is something to read after ``Piece/nothingYet``.
    init(
        length: Int64?,
        capacity: Int = BodyPipe.capacity,
        production: @escaping StreamRecipe.Production,
        onReadable: @escaping @Sendable () -> Void
    ) {
        self.capacity = capacity
        self.onReadable = onReadable
        state = Locked(State(check: LengthCheck(length)))
        let task = Task {
            do {
                try await production(self)
                self.finish(nil)
            } catch {
                self.finish(error)
            }
        }
        let hasEnded = state.withLock { state in
            if state.end == nil { state.production = task }
            return state.end != nil
        }
        if hasEnded { task.cancel() }
    }

    /// Reads without waiting.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Piece {
        let (piece, writer) = state.withLock { state -> (Piece, CheckedContinuation<Void, any Error>?) in
            if case .failure(let error) = state.end { return (.failure(error), nil) }
            let wanted = min(buffer.count, state.readable)
            guard wanted > 0 else {
                guard state.end == nil else { return (.end, nil) }
                state.isReaderWaiting = true
                return (.nothingYet, nil)
            }
            state.take(into: buffer, wanted)
            return (.bytes(wanted), state.count < capacity ? state.takeWriter() : nil)
        }
        writer?.resume()
        return piece
    }

    /// Nothing will be read any more: what waits is dropped and the maker cancelled. Idempotent.
    func cancel() {
        end(.failure(CancellationError()), dropping: true)
    }

    func write(_ bytes: Data) async throws {
        guard !bytes.isEmpty else { return }
        let (isFull, wakes) = try state.withLock { state in
            if case .failure(let error) = state.end { throw error }
            try state.check.take(bytes.count)
            state.append(bytes)
            return (state.count >= capacity, state.wakesReader())
        }
        if wakes { onReadable() }
        if isFull { try await waitForRoom() }
    }

    private func waitForRoom() async throws {
        try await withCheckedThrowingContinuation { continuation in
            let answer: Result<Void, any Error>? = state.withLock { state in
                if case .failure(let error) = state.end { return .failure(error) }
                guard state.count >= capacity else { return .success(()) }
                state.writer = continuation
                return nil
            }
            if let answer { continuation.resume(with: answer) }
        }
    }

    private func finish(_ error: (any Error)?) {
        let isShort = Result { try state.withLock { try $0.check.finish() } }
        end(error.map { .failure(UploadError.producing($0)) } ?? isShort, dropping: error != nil)
    }

    /// The first end counts.
    private func end(_ end: Result<Void, any Error>, dropping: Bool) {
        let ended = state.withLock { state -> (State, wakes: Bool)? in
            guard state.end == nil || dropping else { return nil }
            let before = state
            state.end = state.end ?? end
            if dropping { (state.pieces, state.count) = ([], 0) }
            (state.writer, state.production) = (nil, nil)
            return (before, state.wakesReader())
        }
        guard let (before, wakes) = ended else { return }
        before.production?.cancel()
        before.writer?.resume(throwing: CancellationError())
        if wakes { onReadable() }
    }
}
