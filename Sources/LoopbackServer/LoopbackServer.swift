public import Foundation

/// A small HTTP/1.1 server on 127.0.0.1, to upload to in tests and benchmarks.
///
/// It records every request and leaves what happens to it to a handler, written in plain blocking style, which runs on
/// the connection's own thread. Handlers can break any rule; the server's own parser follows the rules to the letter
/// and rejects what a sloppy client sends.
///
/// Handlers may capture the server: ``stop()`` lets go of them.
public final class LoopbackServer: Sendable {
    /// Serves one request.
    ///
    /// If it returns without an answer, the rest of the body is read and a 500 sent. If it returns with the body
    /// unread, the rest is discarded, or the connection closed when the answer had `Connection: close` or more than
    /// 64 MiB follow. If it throws, the connection is closed; after ``LoopbackError/malformed(_:)`` a 400 is sent
    /// before, unless something was sent already.
    public typealias Handler = @Sendable (Exchange) throws -> Void

    /// The server's state at one moment.
    public struct Snapshot: Sendable, CustomStringConvertible {
        /// All requests, in the order in which their heads arrived.
        public internal(set) var requests: [ReceivedRequest] = []
        /// How many connections were accepted so far.
        public internal(set) var connectionCount = 0
        /// How many of them are open.
        public internal(set) var openConnectionCount = 0
        /// The beginnings of what came in place of a head and was answered with 400, 431 or 501.
        public internal(set) var rejections: [String] = []

        /// The state in a few words, for failure messages.
        public var description: String {
            let list = requests.suffix(8).map { request in
                "\(request.method) \(request.target): \(request.bodyByteCount) B\(request.isComplete ? "" : "+"), "
                    + "status \(request.status.map(String.init) ?? "none")\(request.ended ? ", ended" : "")"
            }
            return "\(openConnectionCount) of \(connectionCount) connections open, \(requests.count) requests "
                + "\(list), \(rejections.count) rejections"
        }
    }

    /// The port it listens on.
    public let port: Int
    private let state: ServerState

    /// Binds a free port of 127.0.0.1 and starts to accept connections.
    ///
    /// - Parameter receiveBufferSize: The sockets' receive buffer (SO_RCVBUF) where the system's choice, usually some
    ///   megabytes, would hide how slowly a handler reads.
    /// - Throws: ``LoopbackError/system(call:errno:)``.
    public init(receiveBufferSize: Int? = nil) throws {
        let (listener, port) = try Socket.listening(receiveBufferSize: receiveBufferSize)
        do {
            state = try ServerState()
        } catch {
            listener.dispose()
            throw error
        }
        self.port = port
        let name = "loopback-\(port)"
        state.crew.start(name: name) { [state] in
            acceptConnections(on: listener, port: port, threadName: name, state: state)
        }
    }

    deinit {
        state.stop()
    }

    /// The URL of `path`, which may have a query, on this server.
    public func url(_ path: String = "/", host: String = "127.0.0.1") -> URL {
        if let url = URL(string: "http://\(host):\(port)\(path)") { return url }
        var components = URLComponents()
        components.scheme = "http"
        components.host = host
        components.port = port
        components.path = path.hasPrefix("/") ? path : "/" + path
        return components.url ?? URL(fileURLWithPath: path)
    }

    /// Has `handler` serve the requests with this method, or any if nil, and this path.
    ///
    /// A path that ends in `*` stands for all that begin with what is before it. Of several that match, the last one
    /// registered serves. Without any, the body is read and a 404 sent.
    public func route(_ method: String? = nil, _ path: String, _ handler: @escaping Handler) {
        state.add(ServerState.Route(method: method, path: path, handler: handler))
    }

    /// The state at this moment.
    public var snapshot: Snapshot { state.snapshot }
    /// All requests so far, in the order in which their heads arrived.
    public var requests: [ReceivedRequest] { state.snapshot.requests }
    /// How many connections were accepted so far.
    public var connectionCount: Int { state.snapshot.connectionCount }
    /// How many connections are open.
    public var openConnectionCount: Int { state.snapshot.openConnectionCount }

    /// Suspends until `condition` holds, and returns the state in which it did.
    ///
    /// The condition is called at once, and then, on the server's threads, at every change: a head or bytes received,
    /// an answer begun, an exchange ended, a connection opened or closed.
    ///
    /// - Throws: ``LoopbackError/timedOut(_:)`` after `timeout`, ``LoopbackError/stopped`` when the server was stopped
    ///   and the condition does not hold, `CancellationError` when the task was cancelled.
    @discardableResult
    public func wait(
        timeout: Duration = .seconds(30),
        until condition: @escaping @Sendable (Snapshot) -> Bool
    ) async throws -> Snapshot {
        try await state.wait(timeout: timeout, until: condition)
    }

    /// Closes every connection, wakes the handlers that block in an ``Exchange``, and returns when all threads have ended
    /// (but for the caller's own, if a handler calls this).
    ///
    /// From then on the port refuses connections. It goes to nobody else as long as the server exists.
    public func stop() {
        state.stop()
    }
}

private func acceptConnections(on listener: Socket, port: Int, threadName: String, state: ServerState) {
    defer {
        listener.dispose()
        state.keepPort(port)
    }
    while (try? listener.block(for: .reading, wake: state.wake.readEnd)) == .ready {
        do {
            guard let socket = try listener.acceptConnection() else { continue }
            guard let number = state.connectionOpened() else { return socket.dispose() }
            state.crew.start(name: threadName) {
                Connection(socket: socket, number: number, state: state).run()
            }
        } catch {
            // Most likely out of descriptors. The connection stays in the queue, so the poll would return at once.
            if state.wake.wait(milliseconds: 10) { return }
        }
    }
}
