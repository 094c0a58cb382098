import Foundation

/// Where a session's callbacks come in: fans them out to one continuation per task.
///
/// Its executor is the session's delegate queue, so callbacks are handled in order, in isolation and without a hop.
/// It is not the session's delegate itself, since an actor cannot inherit from `NSObject` here: a
/// ``SessionDelegateProxy`` forwards to it.
actor SessionDelegate {
    /// One task's end of things.
    private struct Exchange {
        let task: URLSessionTask
        let continuation: AsyncThrowingStream<TransferEvent, any Error>.Continuation
        let ended: Gate
        let source: (any BodySource)?
        let reader: BodyReader?
        let isSecure: Bool
        var machine: TransferMachine
        var declinedChallenge = false
    }

    nonisolated let executor: DelegateQueueExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let proxy: SessionDelegateProxy
    private let strategy: BodyStrategy
    private var exchanges: [Int: Exchange] = [:]

    init(executor: DelegateQueueExecutor, proxy: SessionDelegateProxy, strategy: BodyStrategy) {
        self.executor = executor
        self.proxy = proxy
        self.strategy = strategy
    }

    /// Makes the task for a request and lets it run.
    ///
    /// All of it happens on the delegate queue: `resume()` waits for the session's own queue, which must not hold up
    /// a thread of the cooperative pool.
    func start(_ outgoing: OutgoingRequest, in session: URLSession) throws -> Transfer {
        try Task.checkCancellation()
        let task = strategy.makeTask(for: outgoing, in: session)
        let number = task.taskIdentifier
        let reader = makeReader(for: outgoing, number: number)
        let (events, continuation) = AsyncThrowingStream<TransferEvent, any Error>.makeStream()
        let exchange = Exchange(
            task: task,
            continuation: continuation,
            ended: Gate(),
            source: outgoing.body,
            reader: reader,
            isSecure: outgoing.request.url?.scheme?.lowercased() == "https",
            machine: TransferMachine(
                bodyLength: outgoing.body?.length ?? 0,
                responseBodyLimit: outgoing.responseBodyLimit,
                method: outgoing.request.httpMethod
            )
        )
        exchanges[number] = exchange
        continuation.onTermination = { [weak self] reason in
            guard case .cancelled = reason else { return }
            self?.perform { $0.fail(number, CancellationError()) }
        }
        if let reader { proxy.readers.withLock { $0[number] = reader } }
        task.resume()
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

    func didReceive(_ number: Int, head: HTTPURLResponse) {
        update(number) { $0.machine.didReceive(head) }
    }

    func didReceive(_ number: Int, data: Data) {
        update(number) { $0.machine.didReceive(data) }
    }

    func didDeclineChallenge(_ number: Int) {
        exchanges[number]?.declinedChallenge = true
    }

    func didComplete(_ number: Int, error: (any Error)?, lastHead: HTTPURLResponse?) {
        checkBody(number)
        update(number) { exchange in
            // The library ends a task with this error when a challenge is declined; its response is complete all the same.
            let isDeclined = exchange.declinedChallenge && lastHead != nil && (error as? URLError)?.code == .cancelled
            let failure =
                isDeclined ? nil : error.map { URLErrorTranslation.uploadError(from: $0, isSecure: exchange.isSecure) }
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
        for event in effects.events { exchange.continuation.yield(event) }
        if effects.stops { exchange.task.cancel() }
        if effects.ends { end(number, exchange, effects.error) }
    }

    private func end(_ number: Int, _ exchange: Exchange, _ error: (any Error)?) {
        exchanges[number] = nil
        proxy.readers.withLock { $0[number] = nil }
        exchange.continuation.finish(throwing: error)
        exchange.ended.open()
    }

    /// A body that the library reads by its own means has to be watched from outside.
    private func checkBody(_ number: Int) {
        guard let exchange = exchanges[number], exchange.reader == nil, let source = exchange.source else { return }
        do { try source.checkUnchanged() } catch { fail(number, error) }
    }

    private func makeReader(for outgoing: OutgoingRequest, number: Int) -> BodyReader? {
        guard strategy == .streamed, let source = outgoing.body else { return nil }
        return BodyReader(source) { [weak self] error in
            // Queued before the library can report the end that follows from it, so this reason comes first.
            self?.perform { $0.fail(number, error) }
        }
    }
}
