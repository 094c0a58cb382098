#if os(Linux)
    import CLibcurl
    import Foundation

    /// The transfers that have something to tell.
    private final class Outbox {
        private var exchanges: [CurlExchange] = []

        func add(_ exchange: CurlExchange) {
            exchanges.append(exchange)
        }

        func flush() {
            for exchange in exchanges { exchange.flush() }
            exchanges.removeAll(keepingCapacity: true)
        }
    }

    /// Where libcurl's callbacks come in: fans them out to one continuation per transfer.
    ///
    /// Its executor is the thread that runs libcurl; see ``CurlExecutor``.
    actor CurlSession {
        nonisolated let executor: CurlExecutor
        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

        private let multi: OpaquePointer
        private let options: TransportOptions
        private var exchanges: [OpaquePointer: CurlExchange] = [:]
        /// Handles that were used and can be again; they keep what is costly to make.
        private var spareHandles: [OpaquePointer] = []
        private let sockets = CurlSockets()
        private let outbox = Outbox()
        private var isClosed = false
        private var nextCheck = TransferMachine.Instant.now

        init(executor: CurlExecutor, options: TransportOptions) {
            self.executor = executor
            self.options = options
            multi = executor.multi
            clibcurl_multi_set_long(multi, CurlOption.Multi.cachedConnections, options.idleConnectionLimit)
        }

        /// Starts a transfer.
        ///
        /// - Parameters:
        ///   - continuation: gets the transfer's events and its end.
        ///   - ended: is opened when nothing is left of the transfer.
        func start(
            _ outgoing: OutgoingRequest,
            _ continuation: TransferEvents.Continuation,
            _ ended: Gate
        ) {
            let easy: OpaquePointer
            do {
                easy = try preparedHandle(for: outgoing)
            } catch {
                continuation.finish(throwing: error)
                return ended.open()
            }
            let exchange = CurlExchange(
                easy,
                outgoing,
                continuation,
                ended,
                sockets,
                onEvents: outbox.add,
                onReadable: { [weak executor] exchange in executor?.perform { $0.resume(exchange) } }
            )
            exchanges[easy] = exchange
            nextCheck = min(nextCheck, .now + outgoing.limits.checkInterval)
            let code = clibcurl_multi_add(multi, easy)
            if code != 0 { end(exchange, code) }
        }

        private func preparedHandle(for outgoing: OutgoingRequest) throws -> OpaquePointer {
            guard !isClosed else { throw UploadError(.shutDown) }
            guard let easy = spareHandles.popLast() ?? clibcurl_easy_init() else {
                throw UploadError(.transferFailed, detail: "no memory")
            }
            do {
                try CurlSetup(easy: easy, outgoing: outgoing, options: options).apply()
            } catch {
                clibcurl_easy_reset(easy)
                putAside(easy)
                throw error
            }
            sockets.watch(easy)
            return easy
        }

        /// Gives up the transfer that this gate belongs to, if it has not ended.
        func cancel(_ ended: Gate) {
            guard let exchange = exchanges.values.first(where: { $0.ended === ended }) else { return }
            stop(exchange, CancellationError())
        }

        /// Moves every transfer on as far as it goes without waiting.
        ///
        /// - Returns: for how many milliseconds there is nothing to do unless a socket wakes the thread.
        func turn() -> CInt {
            var running: CInt = 0
            clibcurl_multi_perform(multi, &running)
            sockets.uncork()
            var code: CInt = 0
            while let easy = clibcurl_multi_next_done(multi, &code) {
                if let exchange = exchanges[easy] { conclude(exchange, code) }
            }
            sockets.forget()
            outbox.flush()
            return endOverdueExchanges()
        }

        /// Ends every transfer and lets go of the handles.
        func close() {
            isClosed = true
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

        /// Goes on with a transfer that waits for its body.
        private func resume(_ exchange: CurlExchange) {
            if exchanges[exchange.easy] === exchange { exchange.resume() }
        }

        /// A transfer has ended by itself: it is over, or begins anew.
        private func conclude(_ exchange: CurlExchange, _ code: CInt) {
            if code != 0 { exchange.hear() }
            if code != 0, exchange.canBeginAnew(after: code) { beginAnew(exchange) } else { end(exchange, code) }
        }

        private func beginAnew(_ exchange: CurlExchange) {
            clibcurl_multi_remove(multi, exchange.easy)
            exchange.beginAnew()
            let code = clibcurl_multi_add(multi, exchange.easy)
            if code != 0 { end(exchange, code) }
        }

        private func end(_ exchange: CurlExchange, _ code: CInt) {
            // No effect where the transfer has ended by itself.
            exchange.closeConnection()
            clibcurl_multi_remove(multi, exchange.easy)
            exchanges[exchange.easy] = nil
            exchange.end(code)
            putAside(exchange.easy)
        }

        /// Keeps a handle that has no options set any more.
        private func putAside(_ easy: OpaquePointer) {
            guard spareHandles.count < options.idleConnectionLimit else { return clibcurl_easy_cleanup(easy) }
            spareHandles.append(easy)
        }

        private func endOverdueExchanges() -> CInt {
            guard !exchanges.isEmpty else { return .max }
            let now = TransferMachine.Instant.now
            if now >= nextCheck {
                nextCheck = now + (exchanges.values.map(\.checkInterval).min() ?? .seconds(1))
                for exchange in exchanges.values {
                    if exchange.isOverdue(at: now) {
                        end(exchange, 0)
                    } else if exchange.isClosedByPeer {
                        conclude(exchange, CurlOption.Value.receiveError)
                    }
                }
            }
            // Rounded up, so that the time has come when the wait is over.
            return CInt((nextCheck - now) / .milliseconds(1)) + 1
        }
    }
#endif
