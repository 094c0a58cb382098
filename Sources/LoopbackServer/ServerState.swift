import Foundation

/// What the threads of a server share. They hold this and not the server, so that the server can go away.
final class ServerState: Sendable {
    struct Route: Sendable {
        let method: String?
        let path: String
        let handler: LoopbackServer.Handler

        func matches(_ head: RequestHead) -> Bool {
            guard method == nil || method == head.method else { return false }
            return path.hasSuffix("*") ? head.path.hasPrefix(path.dropLast()) : head.path == path
        }
    }

    private struct Waiter {
        let condition: @Sendable (LoopbackServer.Snapshot) -> Bool
        let continuation: CheckedContinuation<LoopbackServer.Snapshot, any Error>
    }

    private struct Contents {
        var snapshot = LoopbackServer.Snapshot()
        var isStopped = false
        var routes: [Route] = []
        var waiters: [Int: Waiter] = [:]
        var waiterCount = 0
        var portKeeper: Socket?
    }

    let wake: WakePipe
    let crew: ThreadCrew
    private let contents = Locked(Contents())

    init() throws {
        let wake = try WakePipe()
        self.wake = wake
        // The last thread closes the pipe: none is left then to poll it, and nobody signals it a second time.
        crew = ThreadCrew(whenAllEnded: wake.dispose)
    }

    deinit {
        contents.withLock { $0.portKeeper }?.dispose()
    }

    /// Has `port` refuse connections until the state goes away. Where that fails the port is merely free.
    func keepPort(_ port: Int) {
        let keeper = try? Socket.refusing(port: port)
        contents.withLock { $0.portKeeper = keeper }
    }

    var snapshot: LoopbackServer.Snapshot { contents.withLock { $0.snapshot } }
    var isStopped: Bool { contents.withLock { $0.isStopped } }

    // MARK: Routes

    func add(_ route: Route) {
        contents.withLock { $0.routes.append(route) }
    }

    func handler(for head: RequestHead) -> LoopbackServer.Handler? {
        contents.withLock { $0.routes.last { $0.matches(head) } }?.handler
    }

    // MARK: Changes

    /// The number of a new connection, nil when the server is stopped.
    func connectionOpened() -> Int? {
        change { contents in
            guard !contents.isStopped else { return nil }
            contents.snapshot.connectionCount += 1
            contents.snapshot.openConnectionCount += 1
            return contents.snapshot.connectionCount - 1
        }
    }

    func connectionClosed() {
        change { $0.snapshot.openConnectionCount -= 1 }
    }

    func requestReceived(_ head: RequestHead, connection: Int) -> Int {
        change { contents in
            let index = contents.snapshot.requests.count
            contents.snapshot.requests.append(ReceivedRequest(index: index, connection: connection, head: head))
            return index
        }
    }

    func rejected(_ head: String) {
        change { $0.snapshot.rejections.append(head) }
    }

    /// False when the server is stopped.
    @discardableResult
    func update(_ index: Int, _ body: (inout ReceivedRequest) -> Void) -> Bool {
        change { contents in
            body(&contents.snapshot.requests[index])
            return !contents.isStopped
        }
    }

    func request(_ index: Int) -> ReceivedRequest {
        contents.withLock { $0.snapshot.requests[index] }
    }

    func stop() {
        // Routes may hold the server; they are released here, but not while the lock is held.
        var routes: [Route] = []
        contents.withLock { contents in
            guard !contents.isStopped else { return }
            contents.isStopped = true
            swap(&routes, &contents.routes)
            // Under the lock: the pipe is open as long as no thread has seen that the server is stopped.
            wake.signal()
        }
        routes.removeAll()
        crew.waitUntilEnded()
        let waiters = contents.withLock { contents in
            defer { contents.waiters = [:] }
            return contents.waiters.values.map(\.continuation)
        }
        for waiter in waiters { waiter.resume(throwing: LoopbackError.stopped) }
    }

    /// Changes the contents, then lets the waiters look. Their conditions are not called under the lock: they may ask
    /// the server something.
    private func change<Result>(_ body: (inout Contents) -> Result) -> Result {
        let (result, waiters, snapshot) = contents.withLock { contents in
            let result = body(&contents)
            guard !contents.waiters.isEmpty else { return (result, [Int: Waiter](), nil as LoopbackServer.Snapshot?) }
            return (result, contents.waiters, contents.snapshot)
        }
        if let snapshot {
            for (id, waiter) in waiters where waiter.condition(snapshot) { finish(id, .success(snapshot)) }
        }
        return result
    }

    // MARK: Waiting

    func wait(
        timeout: Duration,
        until condition: @escaping @Sendable (LoopbackServer.Snapshot) -> Bool
    ) async throws -> LoopbackServer.Snapshot {
        let id = contents.withLock { contents in
            contents.waiterCount += 1
            return contents.waiterCount
        }
        let timer = Task { [self] in
            try await Task.sleep(for: timeout)
            finish(id, .failure(LoopbackError.timedOut(snapshot.description)))
        }
        defer { timer.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                register(id, Waiter(condition: condition, continuation: continuation))
            }
        } onCancel: {
            finish(id, .failure(CancellationError()))
        }
    }

    private func register(_ id: Int, _ waiter: Waiter) {
        let (snapshot, isStopped) = contents.withLock { contents in
            contents.waiters[id] = waiter
            return (contents.snapshot, contents.isStopped)
        }
        if waiter.condition(snapshot) {
            finish(id, .success(snapshot))
        } else if Task.isCancelled {
            // The handler may have run before there was a waiter to finish.
            finish(id, .failure(CancellationError()))
        } else if isStopped {
            finish(id, .failure(LoopbackError.stopped))
        }
    }

    /// Whoever takes the waiter out resumes it, so that it is resumed once.
    private func finish(_ id: Int, _ result: Result<LoopbackServer.Snapshot, any Error>) {
        contents.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(with: result)
    }
}
