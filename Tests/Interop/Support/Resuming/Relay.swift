import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc

    private let sendFlags = Int32(MSG_NOSIGNAL)
    /// POLLRDHUP: the peer has gone, whether or not there is something unread before that.
    private let hangUpEvents: Int16 = 0x2000
#else
    import Darwin

    private let sendFlags: Int32 = 0
    private let hangUpEvents = Int16(POLLHUP)
#endif

/// Passes bytes on between a client and a server of this machine, and gets in the way where it is told to.
///
/// Each connection has a thread of its own, which ends with it.
final class Relay: Sendable {
    /// What happens to a connection when the client has sent so many bytes since the last time that something happened,
    /// on all connections and with heads: some servers close theirs after each request.
    enum Interference: Sendable {
        /// The client's side is reset; the server's side just ends.
        case reset(after: Int)
        /// Nothing reaches the other side until one gives up.
        case stall(after: Int)

        var byteCount: Int {
            switch self {
            case .reset(let count), .stall(let count): count
            }
        }
    }

    private struct State {
        var plan: [Interference]
        var interferenceCount = 0
        var settledCount = 0
        var byteCount = 0
        var connectionCount = 0
    }

    /// Where it listens.
    let port: UInt16
    private let serverPort: UInt16
    private let waitsForServer: Bool
    private let listener: Int32
    private let state: Mutex<State>
    /// Held from the time when a connection is given up until the server has closed its side.
    private let closing = NSLock()

    /// - Parameters:
    ///   - plan: what happens, in order, each to the connection that comes so far.
    ///   - waitsForServer: whether the next connection has to wait until the server is done with one that was given up.
    init(to serverPort: UInt16, _ plan: [Interference], waitsForServer: Bool = false) throws {
        self.serverPort = serverPort
        self.waitsForServer = waitsForServer
        (listener, port) = try Loopback.listen()
        state = Mutex(State(plan: plan))
        Thread.detachNewThread { [weak self, listener] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else {
                    if [EINTR, EAGAIN, ECONNABORTED].contains(errno) { continue }
                    close(listener)
                    return
                }
                guard let relay = self else {
                    close(client)
                    continue
                }
                Thread.detachNewThread { relay.serve(client) }
            }
        }
    }

    deinit {
        // Has accept() fail.
        shutdown(listener, Int32(SHUT_RDWR))
    }

    /// How many connections it has got in the way of.
    var interferenceCount: Int { state.withLock { $0.interferenceCount } }

    /// With how many of them the server is done, if it was waited for.
    var settledCount: Int { state.withLock { $0.settledCount } }

    /// How many bytes clients have sent since something happened to a connection for the last time.
    var byteCount: Int { state.withLock { $0.byteCount } }

    /// How many connections there have been.
    var connectionCount: Int { state.withLock { $0.connectionCount } }

    // MARK: One connection

    private func serve(_ client: Int32) {
        state.withLock { $0.connectionCount += 1 }
        // Only to wait until nobody holds it.
        closing.withLock {}
        // A server that is not there looks like one that hangs up at once.
        guard let server = try? Loopback.connect(to: serverPort) else {
            close(client)
            return
        }
        defer { close(server) }
        guard let interference = pass(client, server) else {
            close(client)
            return
        }
        // Before the client can know, so that it cannot be back earlier.
        if waitsForServer { closing.lock() }
        defer { if waitsForServer { closing.unlock() } }
        state.withLock { $0.interferenceCount += 1 }
        switch interference {
        case .reset:
            var option = linger(l_onoff: 1, l_linger: 0)
            setsockopt(client, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        case .stall:
            waitForHangUp(client, server)
        }
        close(client)
        shutdown(server, Int32(SHUT_WR))
        guard waitsForServer else { return }
        var rest = [UInt8](repeating: 0, count: 4096)
        while recv(server, &rest, rest.count, 0) > 0 {}
        state.withLock { $0.settledCount += 1 }
    }

    /// Drops what the client sends: its end would not be seen before the bytes in front of it are taken.
    private func waitForHangUp(_ client: Int32, _ server: Int32) {
        var polled = [
            pollfd(fd: client, events: Int16(POLLIN), revents: 0),
            pollfd(fd: server, events: hangUpEvents, revents: 0),
        ]
        var dropped = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            guard poll(&polled, 2, -1) >= 0 else {
                if errno == EINTR { continue }
                return
            }
            if polled[1].revents != 0 { return }
            if polled[0].revents != 0, recv(client, &dropped, dropped.count, 0) <= 0 { return }
        }
    }

    /// Passes bytes on until one side has gone.
    ///
    /// - Returns: what is to happen instead.
    private func pass(_ client: Int32, _ server: Int32) -> Interference? {
        var polled = [client, server].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            guard poll(&polled, 2, -1) >= 0 else {
                if errno == EINTR { continue }
                return nil
            }
            if polled[1].revents != 0 {
                let count = recv(server, &buffer, buffer.count, 0)
                guard count > 0, write(buffer[..<count], to: client) else { return nil }
            }
            guard polled[0].revents != 0 else { continue }
            let received = recv(client, &buffer, buffer.count, 0)
            guard received > 0 else { return nil }
            let (allowed, interference) = count(received)
            guard write(buffer[..<allowed], to: server) else { return interference }
            if let interference { return interference }
        }
    }

    /// - Returns: how many of the bytes go on, and what happens then.
    private func count(_ count: Int) -> (allowed: Int, Interference?) {
        state.withLock { state in
            state.byteCount += count
            guard let next = state.plan.first, state.byteCount > next.byteCount else { return (count, nil) }
            let excess = state.byteCount - next.byteCount
            state.byteCount = 0
            return (max(0, count - excess), state.plan.removeFirst())
        }
    }

    private func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, sendFlags) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
