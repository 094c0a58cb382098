// The only file that knows which platform this is, and the only one that calls the socket functions.

import Foundation

#if canImport(Glibc)
    import Glibc

    private let streamType = Int32(SOCK_STREAM.rawValue)
    private let sendFlags = Int32(MSG_NOSIGNAL)
    /// Has the kernel drop what it would copy.
    private let discardFlags = Int32(MSG_TRUNC)
    private let quietOptions: [Int32] = []
    /// POLLRDHUP: the peer has shut down its writing side, whether or not unread data lie before that.
    private let hangUpEvents: Int16 = 0x2000
#else
    import Darwin

    private let streamType = SOCK_STREAM
    private let sendFlags: Int32 = 0
    private let discardFlags: Int32 = 0
    private let quietOptions = [SO_NOSIGPIPE]
    private let hangUpEvents = Int16(POLLHUP)
#endif

/// A descriptor of a TCP socket. Who holds it decides when it is closed; nothing here does that by itself.
struct Socket: Sendable {
    let descriptor: Int32

    enum Readiness { case ready, stopped, timedOut }
    enum Interest { case reading, writing, hangUp }

    /// - Parameters:
    ///   - port: 0 for one that is free.
    ///   - backlog: how many connections may wait to be accepted, and one more; `nil` for a port that is taken but
    ///     refuses every connection.
    static func listening(
        port: Int = 0,
        receiveBufferSize: Int?,
        backlog: Int32? = 1024
    ) throws -> (socket: Socket, port: Int) {
        let listener = Socket(descriptor: socket(AF_INET, streamType, 0))
        guard listener.descriptor >= 0 else { throw LoopbackError.lastSystemError("socket") }
        do {
            if let receiveBufferSize {
                // Before listen(): connections take the size over, and the window scale depends on it.
                try listener.set(SOL_SOCKET, SO_RCVBUF, Int32(clamping: receiveBufferSize))
            }
            try listener.configure()
            let port = try listener.bindToLoopback(port: port)
            if let backlog, listen(listener.descriptor, backlog) != 0 {
                throw LoopbackError.lastSystemError("listen")
            }
            return (listener, port)
        } catch {
            listener.dispose()
            throw error
        }
    }

    /// A socket that keeps `port`, which was listened at before, and refuses every connection.
    static func refusing(port: Int) throws -> Socket {
        let socket = Socket(descriptor: socket(AF_INET, streamType, 0))
        guard socket.descriptor >= 0 else { throw LoopbackError.lastSystemError("socket") }
        do {
            // Ends of earlier connections hold the port, too.
            try socket.set(SOL_SOCKET, SO_REUSEADDR, 1)
            _ = try socket.bindToLoopback(port: port)
            return socket
        } catch {
            socket.dispose()
            throw error
        }
    }

    private func bindToLoopback(port: Int) throws -> Int {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(clamping: port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                bind(descriptor, raw, length) == 0 && getsockname(descriptor, raw, &length) == 0
            }
        }
        guard bound else { throw LoopbackError.lastSystemError("bind") }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    /// A waiting connection, nil when there is none (any more).
    func acceptConnection() throws -> Socket? {
        let accepted = accept(descriptor, nil, nil)
        guard accepted >= 0 else {
            if [EAGAIN, EWOULDBLOCK, EINTR, ECONNABORTED, EPROTO].contains(errno) { return nil }
            throw LoopbackError.lastSystemError("accept")
        }
        let connection = Socket(descriptor: accepted)
        do {
            try connection.configure()
            try? connection.set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
            return connection
        } catch {
            connection.dispose()
            throw error
        }
    }

    private func configure() throws {
        try setNonBlocking(descriptor)
        // A peer that has already gone makes these fail on some systems; reading will tell.
        for option in quietOptions { try? set(SOL_SOCKET, option, 1) }
    }

    private func set(_ level: Int32, _ option: Int32, _ value: Int32) throws {
        var value = value
        guard setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size)) == 0 else {
            throw LoopbackError.lastSystemError("setsockopt")
        }
    }

    /// Bytes read, 0 at the end of the stream, nil when there is nothing to read yet.
    ///
    /// - Parameter discarding: Where the system can drop the bytes without copying them, the buffer stays as it was.
    func receive(into buffer: UnsafeMutableRawBufferPointer, discarding: Bool = false) throws -> Int? {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, discarding ? discardFlags : 0)
            if count >= 0 { return count }
            if errno == EAGAIN || errno == EWOULDBLOCK { return nil }
            if errno != EINTR { throw LoopbackError.peerClosed }
        }
    }

    /// Bytes taken by the kernel, nil when it takes none for now.
    func transmit(_ bytes: UnsafeRawBufferPointer) throws -> Int? {
        while true {
            let count = send(descriptor, bytes.baseAddress, bytes.count, sendFlags)
            if count >= 0 { return count }
            if errno == EAGAIN || errno == EWOULDBLOCK { return nil }
            if errno != EINTR { throw LoopbackError.peerClosed }
        }
    }

    /// Blocks until `interest` is met, `wake` is readable or the deadline has passed.
    func block(for interest: Interest, wake: Int32, until deadline: ContinuousClock.Instant? = nil) throws -> Readiness
    {
        let events =
            switch interest {
            case .reading: Int16(POLLIN)
            case .writing: Int16(POLLOUT)
            case .hangUp: hangUpEvents
            }
        while true {
            var polled = [
                pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
                pollfd(fd: descriptor, events: events, revents: 0),
            ]
            let timeout = deadline.map(milliseconds(until:)) ?? -1
            let count = poll(&polled, 2, timeout)
            guard count >= 0 || errno == EINTR || errno == EAGAIN else { throw LoopbackError.lastSystemError("poll") }
            if count > 0, polled[0].revents != 0 { return .stopped }
            if count > 0, polled[1].revents != 0 { return .ready }
            if let deadline, deadline <= .now { return .timedOut }
            // A poll for hang-up alone may come back for data, on systems without POLLRDHUP: do not spin on that.
            if count == 0 { _ = poll(&polled, 1, min(10, deadline.map(milliseconds(until:)) ?? 10)) }
        }
    }

    func shutDownWriting() {
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Makes the closing of the descriptor send a RST.
    func resetWhenClosed() {
        var option = linger(l_onoff: 1, l_linger: 0)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    func dispose() {
        _ = close(descriptor)
    }
}

/// A pipe that is readable, for all who poll it and for ever, once `signal` was called.
struct WakePipe: Sendable {
    let readEnd: Int32
    private let writeEnd: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw LoopbackError.lastSystemError("pipe") }
        (readEnd, writeEnd) = (ends[0], ends[1])
        for end in ends { try? setNonBlocking(end) }
    }

    func signal() {
        var byte: UInt8 = 1
        _ = write(writeEnd, &byte, 1)
    }

    /// True when signalled within the time.
    func wait(milliseconds: Int32) -> Bool {
        var polled = pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0)
        return poll(&polled, 1, milliseconds) > 0
    }

    func dispose() {
        _ = close(readEnd)
        _ = close(writeEnd)
    }
}

private func setNonBlocking(_ descriptor: Int32) throws {
    guard fcntl(descriptor, F_SETFL, O_NONBLOCK) >= 0, fcntl(descriptor, F_SETFD, FD_CLOEXEC) >= 0 else {
        throw LoopbackError.lastSystemError("fcntl")
    }
}

private func milliseconds(until deadline: ContinuousClock.Instant) -> Int32 {
    let left = ContinuousClock.now.duration(to: deadline).components
    guard left.seconds >= 0, left.attoseconds >= 0 else { return 0 }
    guard left.seconds < 1_000_000 else { return 1_000_000_000 }
    // Rounded up, so that a wait never ends before its time.
    return Int32(left.seconds * 1000 + (left.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
}
