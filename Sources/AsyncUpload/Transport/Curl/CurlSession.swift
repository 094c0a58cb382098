#if os(Linux)
    import CLibcurl
    import Foundation

    /// Where libcurl's callbacks come in: fans them out to one continuation per transfer.
    ///
    /// Its executor is the thread that runs libcurl; see ``CurlExecutor``.
    actor CurlSession {
        nonisolated let executor: CurlExecutor
        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

        private let multi: OpaquePointer
        private let connectionLimit: Int
        private var exchanges: [OpaquePointer: CurlExchange] = [:]
        /// Handles that were used and can be again; they keep what is costly to make.
        private var spareHandles: [OpaquePointer] = []
        private var nextIdleCheck = ContinuousClock.now

        init(executor: CurlExecutor, connectionLimit: Int) {
            self.executor = executor
            self.connectionLimit = connectionLimit
            multi = executor.multi
            clibcurl_multi_set_long(multi, CurlOption.Multi.connectionsPerHost, connectionLimit)
            clibcurl_multi_set_long(multi, CurlOption.Multi.cachedConnections, connectionLimit)
        }

        /// Starts a transfer.
        ///
        /// - Throws: `CancellationError` if the current task is cancelled; nothing is sent then.
        func start(_ outgoing: OutgoingRequest) throws -> Transfer {
            try Task.checkCancellation()
            guard let easy = spareHandles.popLast() ?? clibcurl_easy_init() else {
                throw UploadError(.transferFailed, detail: "no memory")
            }
            let (events, continuation) = AsyncThrowingStream<TransferEvent, any Error>.makeStream()
            let exchange = CurlExchange(easy, outgoing, continuation)
            exchanges[easy] = exchange
            continuation.onTermination = { [weak self, weak exchange] reason in
                guard case .cancelled = reason, let self, let exchange else { return }
                Task { await self.stop(exchange, CancellationError()) }
            }
            nextIdleCheck = min(nextIdleCheck, .now + IdleTimer.interval(for: outgoing.idleLimit))
            let code = clibcurl_multi_add(multi, easy)
            if code != 0 { end(exchange, code) }
            return Transfer(events: events, ended: exchange.ended)
        }

        /// Moves every transfer on as far as it goes without waiting.
        ///
        /// - Returns: for how many milliseconds there is nothing to do unless a socket wakes the thread.
        func turn() -> CInt {
            var running: CInt = 0
            clibcurl_multi_perform(multi, &running)
            var code: CInt = 0
            while let easy = clibcurl_multi_next_done(multi, &code) {
                if let exchange = exchanges[easy] { end(exchange, code) }
            }
            return endIdleExchanges()
        }

        /// Ends every transfer and lets go of the handles.
        func close() {
            for exchange in exchanges.values { stop(exchange, CancellationError()) }
            for easy in spareHandles { clibcurl_easy_cleanup(easy) }
            spareHandles = []
        }

        /// Gives a transfer up for a reason of our own.
        private func stop(_ exchange: CurlExchange, _ error: any Error) {
            guard exchanges[exchange.easy] === exchange else { return }
            exchange.fail(error)
            end(exchange, 0)
        }

        private func end(_ exchange: CurlExchange, _ code: CInt) {
            clibcurl_multi_remove(multi, exchange.easy)
            exchanges[exchange.easy] = nil
            exchange.end(code)
            if spareHandles.count < connectionLimit {
                spareHandles.append(exchange.easy)
            } else {
                clibcurl_easy_cleanup(exchange.easy)
            }
        }

        private func endIdleExchanges() -> CInt {
            guard !exchanges.isEmpty else { return .max }
            let now = ContinuousClock.now
            if now >= nextIdleCheck {
                let shortest = exchanges.values.map(\.idleLimit).min() ?? .seconds(1)
                nextIdleCheck = now + IdleTimer.interval(for: shortest)
                for exchange in exchanges.values where exchange.isIdle(at: now) { end(exchange, 0) }
            }
            // Rounded up, so that the time has come when the wait is over.
            return CInt((nextIdleCheck - now) / .milliseconds(1)) + 1
        }
    }
#endif
