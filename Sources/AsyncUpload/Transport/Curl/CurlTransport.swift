#if os(Linux)
    import CLibcurl
    import Foundation

    /// Sends requests through libcurl itself, which FoundationNetworking has brought along.
    ///
    /// As fast as the machine, and no server can hurt the process: there is no parser in between that traps. Cookies are
    /// neither kept nor sent unless the request has them.
    final class CurlTransport: Transport {
        private let executor: CurlExecutor
        private let session: CurlSession
        private let isShutDown = Locked(false)

        /// - Returns: `nil` when libcurl is not to be had.
        init?(_ options: TransportOptions) {
            guard let executor = CurlExecutor() else { return nil }
            self.executor = executor
            session = CurlSession(executor: executor, options: options)
            executor.start(session)
        }

        deinit {
            executor.stop()
        }

        let countsExactly = true

        func send(_ outgoing: OutgoingRequest) async throws -> Transfer {
            guard !isShutDown.withLock({ $0 }) else { throw UploadError(.shutDown) }
            try Task.checkCancellation()
            var outgoing = outgoing
            // Nothing would be read of it, and whether it is as short as that would remain unknown.
            if case .stream(let stream) = outgoing.body, stream.length == 0 {
                outgoing.body = .source(try await stream.spooled(keepingName: false, within: outgoing.limits.remaining))
            }
            return start(outgoing)
        }

        /// Nobody waits for the thread that is to begin: to go there and back would cost a small upload a good part of its
        /// time.
        private func start(_ outgoing: OutgoingRequest) -> Transfer {
            let (events, continuation) = TransferEvents.makeStream()
            let ended = Gate()
            continuation.onTermination = { [weak executor] reason in
                guard case .cancelled = reason else { return }
                executor?.perform { $0.cancel(ended) }
            }
            if !executor.perform({ $0.start(outgoing, continuation, ended) }) {
                continuation.finish(throwing: UploadError(.shutDown))
                ended.open()
            }
            return Transfer(events: events, ended: ended)
        }

        func shutDown() async {
            isShutDown.withLock { $0 = true }
            executor.stop()
            await executor.ended.wait()
        }
    }
#endif
