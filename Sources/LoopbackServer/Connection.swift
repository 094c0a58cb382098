import Foundation

/// One connection, from its first byte to its end; used on its own thread only.
final class Connection {
    static let drainLimit: Int64 = 64 << 20
    private static let bufferSize = RequestHead.limit

    let number: Int
    let state: ServerState
    private let socket: Socket
    private(set) var isOpen = true

    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferSize, alignment: 64)
    private var filled = 0..<0
    private var lastIndex: Int?

    init(socket: Socket, number: Int, state: ServerState) {
        self.socket = socket
        self.number = number
        self.state = state
    }

    deinit {
        buffer.deallocate()
    }

    func run() {
        defer { dispose() }
        do {
            while isOpen, !state.isStopped, let head = try readHead() {
                guard serve(head) else { break }
            }
            // What has arrived behind the last body, if the connection ends because of that request.
            if isOpen, filled.isEmpty { filled = 0..<(try socket.receive(into: buffer) ?? 0) }
            countExcess(filled.count)
        } catch let rejection as Rejection {
            reject(rejection)
        } catch {
            countExcess(filled.count)
        }
    }

    /// True when another request may follow.
    private func serve(_ head: RequestHead) -> Bool {
        let index = state.requestReceived(head, connection: number)
        lastIndex = index
        let exchange = Exchange(connection: self, head: head, index: index)
        defer { exchange.finish() }
        do {
            try (state.handler(for: head) ?? notFound)(exchange)
            return try exchange.conclude()
        } catch LoopbackError.malformed(let reason) {
            exchange.reject(reason)
            return false
        } catch {
            return false
        }
    }

    // MARK: Heads

    /// The next head, nil when the peer is done.
    private func readHead() throws -> RequestHead? {
        var scanned = 0
        var lineStart = 0
        while true {
            let bytes = available
            if let first = bytes.first, !isTokenByte(first) { throw Rejection("no request line") }
            while let feed = lineFeed(in: bytes, from: scanned) {
                guard feed > lineStart, bytes[feed - 1] == UInt8(ascii: "\r") else { throw Rejection("bare line feed") }
                scanned = feed + 1
                if feed - 1 == lineStart {
                    let head = try RequestHead(parsing: UnsafeRawBufferPointer(rebasing: bytes[..<scanned]))
                    consume(scanned)
                    return head
                }
                lineStart = scanned
            }
            scanned = bytes.count
            guard scanned < RequestHead.limit else { throw Rejection("head too long", status: 431) }
            guard try fill() > 0 else { return nil }
        }
    }

    private func reject(_ rejection: Rejection) {
        state.rejected(latin1(available.prefix(1024)))
        countExcess(filled.count)
        try? send(answer(rejection.status, body: Data("\(rejection.reason)\n".utf8), close: true))
        countExcess(Int(clamping: closeDraining()))
    }

    private func countExcess(_ count: Int) {
        guard count > 0, let lastIndex else { return }
        state.update(lastIndex) { request in
            if request.isComplete { request.excess += Int64(count) }
        }
    }

    // MARK: Input

    /// Bytes received and not consumed; valid until the next `fill`.
    var available: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[filled])
    }

    func consume(_ count: Int) {
        filled = (filled.lowerBound + count)..<filled.upperBound
        if filled.isEmpty { filled = 0..<0 }
    }

    /// Waits for input, of which it takes at most `limit` bytes; 0 at the end of the stream.
    func fill(limit: Int = 64 << 10, beforeWaiting: () -> Void = {}) throws -> Int {
        let count = try receive(into: free(limit: limit), beforeWaiting: beforeWaiting)
        filled = filled.lowerBound..<(filled.upperBound + count)
        return count
    }

    /// Waits for input as `fill` does, and drops it. There must be nothing that has not been consumed.
    func skip(limit: Int, beforeWaiting: () -> Void) throws -> Int {
        try receive(into: free(limit: limit), discarding: true, beforeWaiting: beforeWaiting)
    }

    private func receive(
        into space: UnsafeMutableRawBufferPointer,
        discarding: Bool = false,
        beforeWaiting: () -> Void
    ) throws -> Int {
        while true {
            guard isOpen else { throw LoopbackError.peerClosed }
            if let count = try socket.receive(into: space, discarding: discarding) { return count }
            beforeWaiting()
            try block(for: .reading)
        }
    }

    private func free(limit: Int) -> UnsafeMutableRawBufferPointer {
        if filled.upperBound == buffer.count, filled.lowerBound > 0 {
            let rest = available
            buffer.copyMemory(from: rest)
            filled = 0..<rest.count
        }
        let end = min(buffer.count - filled.upperBound, limit) + filled.upperBound
        return UnsafeMutableRawBufferPointer(rebasing: buffer[filled.upperBound..<end])
    }

    // MARK: Output and waiting

    func send(_ bytes: Data) throws {
        guard !state.isStopped else { throw LoopbackError.stopped }
        try bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                guard isOpen else { throw LoopbackError.peerClosed }
                if let count = try socket.transmit(UnsafeRawBufferPointer(rebasing: rest)) {
                    rest = rest.dropFirst(count)
                } else {
                    try block(for: .writing)
                }
            }
        }
    }

    /// True when ready, false when the deadline passed before.
    @discardableResult
    func block(for interest: Socket.Interest, until deadline: ContinuousClock.Instant? = nil) throws -> Bool {
        guard isOpen else { throw LoopbackError.peerClosed }
        switch try socket.block(for: interest, wake: state.wake.readEnd, until: deadline) {
        case .ready: return true
        case .timedOut: return false
        case .stopped: throw LoopbackError.stopped
        }
    }

    // MARK: Closing

    /// Sends FIN, then discards what comes until the peer closes, for 5 s at most: unread input would have the kernel
    /// send a RST, which can destroy the answer before the peer has read it. Returns how many bytes came.
    @discardableResult
    func closeDraining() -> Int64 {
        guard isOpen else { return 0 }
        socket.shutDownWriting()
        let deadline = ContinuousClock.now.advanced(by: .seconds(5))
        var drained: Int64 = 0
        filled = 0..<0
        while drained < Self.drainLimit, !state.isStopped, deadline > .now {
            do {
                guard let count = try socket.receive(into: buffer) else {
                    guard try block(for: .reading, until: deadline) else { break }
                    continue
                }
                if count == 0 { break }
                drained += Int64(count)
            } catch {
                break
            }
        }
        dispose()
        return drained
    }

    func reset() {
        guard isOpen else { return }
        socket.resetWhenClosed()
        dispose()
    }

    /// Closes at once. The record comes first: who sees the connection end finds it recorded.
    func dispose() {
        guard isOpen else { return }
        isOpen = false
        state.connectionClosed()
        socket.dispose()
    }
}

/// With memchr, since a search in Swift is slow in a debug build.
private func lineFeed(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
    guard let base = bytes.baseAddress, start < bytes.count else { return nil }
    return memchr(base + start, 0x0a, bytes.count - start).map { UnsafeRawPointer($0) - base }
}

private let notFound: LoopbackServer.Handler = { exchange in
    try exchange.readBody()
    try exchange.respond(404)
}
