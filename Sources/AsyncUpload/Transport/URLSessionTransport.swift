import Foundation

/// Sends requests through a `URLSession` of its own.
///
/// The session lives until the last transfer has ended after the last reference to the transport has gone, or until
/// ``shutDown()``: it holds its delegate until then, and a task on an invalidated session ends the process on Linux.
final class URLSessionTransport: Transport {
    /// `nil` once it is invalidated; on Linux its connections stay open for as long as it exists.
    private let session: Locked<URLSession?>
    private let delegate: SessionDelegate
    private let proxy: SessionDelegateProxy

    /// - Parameters:
    ///   - connectionLimit: how many connections to one host may be open at a time.
    ///   - timeout: how many seconds may go by without a byte moving.
    init(connectionLimit: Int, timeout: TimeInterval, strategy: BodyStrategy = .platformDefault) {
        let executor = DelegateQueueExecutor(label: "AsyncUpload.SessionDelegate")
        proxy = SessionDelegateProxy()
        delegate = SessionDelegate(executor: executor, proxy: proxy, strategy: strategy)
        proxy.setDelegate(delegate)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = max(1, connectionLimit)
        configuration.timeoutIntervalForRequest = timeout
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        session = Locked(
            URLSession(configuration: configuration, delegate: proxy, delegateQueue: executor.makeOperationQueue())
        )
    }

    deinit {
        invalidate()
    }

    func send(_ outgoing: OutgoingRequest) async throws -> Transfer {
        guard let session = session.withLock({ $0 }) else { throw UploadError(.shutDown) }
        return try await delegate.start(outgoing, in: session)
    }

    func shutDown() async {
        invalidate()
        await proxy.invalidated.wait()
    }

    private func invalidate() {
        let session = session.withLock { $0.take() }
        session?.finishTasksAndInvalidate()
    }
}
