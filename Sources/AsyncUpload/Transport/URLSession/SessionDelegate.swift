import Foundation

/// Where a session's callbacks come in: fans them out to one continuation per task.
///
/// Its executor is the session's delegate queue, so callbacks are handled in order, in isolation and without a hop.
/// It is not the session's delegate itself, since an actor cannot inherit from `NSObject` here: a
/// ``SessionDelegateProxy`` forwards to it. It only ever asks the session for something through `control`, because
/// that may wait for the session, which may be waiting for this actor.
actor SessionDelegate {
    /// One task's end of things.
    private struct Exchange {
        let task: URLSessionTask
        let outgoing: OutgoingRequest
        let body: (any BodySource)?
        let continuation: TransferEvents.Continuation
        let ended = Gate()
        let reader: BodyReader?
        var machine: TransferMachine
        var declinedChallenge = false
    }

    nonisolated let executor: DelegateQueueExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let proxy: SessionDelegateProxy
    private let strategy: BodyStrategy
    private let control: DispatchQueue
    private var exchanges: [Int: Exchange] = [:]
    private var timer: IntervalTimer?

    init(executor: DelegateQueueExecutor, proxy: SessionDelegateProxy, strategy: BodyStrategy, control: DispatchQueue) {
        self.executor = executor
        self.proxy = proxy
        self.strategy = strategy
        self.control = control
    }

    /// Takes charge of a new task and lets it run.
    ///
    /// - Throws: `CancellationError` if the current task is cancelled; nothing is sent then.
    func start(
        _ task: URLSessionTask,
        for outgoing: OutgoingRequest,
        _ body: (any BodySource)?
    ) throws -> Transfer {
        guard !Task.isCancelled else {
            control.async { task.cancel() }
            throw CancellationError()
        }
        let number = task.taskIdentifier
        let (events, continuation) = TransferEvents.makeStream()
        let exchange = Exchange(
            task: task,
            outgoing: outgoing,
            body: body,
            continuation: continuation,
            reader: makeReader(for: outgoing.request, body, number: number),
            machine: TransferMachine(
                outgoing,
                body: body.map { .length($0.length) } ?? TransferMachine.Body.none,
                at: .now
            )
        )
        exchanges[number] = exchange
        proxy.readers.withLock { $0[number] = exchange.reader }
        continuation.onTermination = { [weak self] reason in
            guard case .cancelled = reason else { return }
            self?.perform { $0.fail(number, CancellationError()) }
        }
        control.async { task.resume() }
        watchTheClock()
        return Transfer(events: events, ended: exchange.ended)
    }

    /// Runs a closure on the delegate queue, after everything that is queued there already.
    nonisolated func perform(_ body: @escaping @Sendable (isolated SessionDelegate) -> Void) {
        executor.queue.async { self.assumeIsolated(body) }
    }

    // MARK: Callbacks

    func didSend(_ number: Int, totalBytesSent: Int64) {
        update(number) { exchange in
            // Where the library sends a stream anew, its own count goes past the length of the body.
            exchange.machine.didSend(exchange.reader?.position ?? totalBytesSent, at: .now)
        }
        checkBody(number)
    }

    func didReceive(_ number: Int, head: ResponseHead) {
        update(number) { $0.machine.didReceive(head, at: .now) }
    }

    func didReceive(_ number: Int, data: Data) {
        update(number) { $0.machine.didReceive(data, at: .now) }
    }

    func didUse(_ number: Int, _ connection: ConnectionFacts) {
        exchanges[number]?.continuation.yield([.connection(connection)])
    }

    func didDeclineChallenge(_ number: Int) {
        exchanges[number]?.declinedChallenge = true
    }

    func didComplete(_ number: Int, error: (any Error)?, lastHead: ResponseHead?, bytesSent: Int64) {
        checkBody(number)
        // Small bodies may go without a report of their own.
        update(number) { exchange in
            guard exchange.reader == nil, exchange.body != nil else { return .none }
            return exchange.machine.didSend(bytesSent, at: .now)
        }
        if let error, URLErrorTranslation.followsHandshake(error) {
            update(number) { exchange in
                exchange.machine.didConnect(at: .now)
                return .none
            }
        }
        update(number) { exchange in
            // The library ends a task with this error when a challenge is declined; its response is complete all the same.
            let isDeclined = exchange.declinedChallenge && lastHead != nil && (error as? URLError)?.code == .cancelled
            let isSecure = exchange.outgoing.request.url?.scheme?.lowercased() == "https"
            let failure = isDeclined ? nil : error.map { URLErrorTranslation.uploadError(from: $0, isSecure: isSecure) }
            return exchange.machine.didComplete(failure, lastHead: lastHead)
        }
    }

    // MARK: Effects

    private func fail(_ number: Int, _ error: any Error) {
        update(number) { $0.machine.fail(error) }
    }

    private func update(_ number: Int, _ change: (inout Exchange) -> TransferMachine.Effects) {
        guard var exchange = exchanges[number] else { return }
        let effects = change(&exchange)
        exchanges[number] = exchange
        if !effects.events.isEmpty { exchange.continuation.yield(effects.events) }
        if effects.stops {
            let task = exchange.task
            control.async { task.cancel() }
        }
        if effects.ends { end(number, exchange, effects.error) }
    }

    private func end(_ number: Int, _ exchange: Exchange, _ error: (any Error)?) {
        exchanges[number] = nil
        proxy.readers.withLock { $0[number] = nil }
        if exchanges.isEmpty { timer = nil }
        exchange.continuation.finish(throwing: error)
        exchange.ended.open()
    }

    /// A body that the library reads by its own means has to be watched from outside.
    private func checkBody(_ number: Int) {
        guard let exchange = exchanges[number], exchange.reader == nil, let source = exchange.body else {
            return
        }
        do {
            try source.checkUnchanged()
            try source.checkNameUnchanged()
        } catch {
            fail(number, error)
        }
    }

    private func makeReader(for request: URLRequest, _ body: (any BodySource)?, number: Int) -> BodyReader? {
        guard strategy == .streamed, let body else { return nil }
        return BodyReader(body, mayRepeat: request.isIdempotent) { [weak self] error in
            // Queued before the library can report the end that follows from it, so this reason comes first.
            self?.perform { $0.fail(number, error) }
        }
    }

    // MARK: Time

    /// Keeps a timer going that is frequent enough for the shortest limit, while there is anything to watch.
    private func watchTheClock() {
        guard let interval = exchanges.values.map(\.outgoing.limits.checkInterval).min() else { return }
        if let timer, timer.interval <= interval { return }
        timer = IntervalTimer(interval: interval, queue: executor.queue) { [weak self] in
            self?.assumeIsolated { $0.endOverdueExchanges() }
        }
    }

    private func endOverdueExchanges() {
        let now = TransferMachine.Instant.now
        for number in exchanges.keys {
            // A file that has become shorter is waited for, and nothing else would tell.
            checkBody(number)
            update(number) { $0.machine.didPass(now) }
        }
    }
}
