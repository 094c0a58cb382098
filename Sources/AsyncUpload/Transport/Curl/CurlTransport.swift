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

        /// - Parameter connectionLimit: how many connections to one host may be open at a time.
        /// - Returns: `nil` when libcurl is not to be had.
        init?(connectionLimit: Int) {
            guard let executor = CurlExecutor() else { return nil }
            self.executor = executor
            session = CurlSession(executor: executor, connectionLimit: max(1, connectionLimit))
            executor.start(session)
        }

        deinit {
            executor.stop()
        }

        func send(_ outgoing: OutgoingRequest) async throws -> Transfer {
            guard !isShutDown.withLock({ $0 }) else { throw UploadError(.shutDown) }
            try Task.checkCancellation()
            return try await session.start(outgoing)
        }

        func shutDown() async {
            isShutDown.withLock { $0 = true }
            executor.stop()
            await executor.ended.wait()
        }
    }
#endif
