import Foundation

/// Sends requests through a `URLSession` of its own.
///
/// The session lives until the last transfer has ended after the last reference to the transport has gone, or until
/// ``shutDown()``: it holds its delegate until then, and a task on an invalidated session ends the process on Linux.
final class URLSessionTransport: Transport {
    /// `nil` once it is invalidated; on Linux its connections stay open for as long as it exists.
    private let session: Locked<URLSession?>
    let delegate: SessionDelegate
    /// Where the session is asked for something, in order. That may wait for the session's own queue, which must hold up
    /// neither the cooperative pool nor the delegate.
    private let control = DispatchQueue(label: "AsyncUpload.URLSessionTransport")
    private let proxy: SessionDelegateProxy
    private let strategy: BodyStrategy

    /// - Parameters:
    ///   - connectionLimit: how many connections to one host may be open at a time.
    ///   - strategy: how the session gets at the bytes of a body.
    init(connectionLimit: Int, strategy: BodyStrategy = .platformDefault) {
        let executor = DelegateQueueExecutor(label: "AsyncUpload.SessionDelegate")
        proxy = SessionDelegateProxy(control: control)
        delegate = SessionDelegate(executor: executor, proxy: proxy, strategy: strategy, control: control)
        proxy.setDelegate(delegate)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = max(1, connectionLimit)
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        // A cookie of one upload's answer has no business in another upload, nor in place of the caller's own.
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        session = Locked(
            URLSession(configuration: configuration, delegate: proxy, delegateQueue: executor.makeOperationQueue())
        )
        self.strategy = strategy
    }

    deinit {
        invalidate()
    }

    func send(_ outgoing: OutgoingRequest) async throws -> Transfer {
        guard let session = session.withLock({ $0 }) else { throw UploadError(.shutDown) }
        try Task.checkCancellation()
        let task = await withCheckedContinuation { continuation in
            control.async { continuation.resume(returning: self.strategy.makeTask(for: outgoing, in: session)) }
        }
        return try await delegate.start(task, for: outgoing)
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
