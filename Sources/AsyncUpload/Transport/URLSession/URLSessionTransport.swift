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
    private let notSupported: String?

    /// - Parameter strategy: how the session gets at the bytes of a body.
    init(_ options: TransportOptions, strategy: BodyStrategy = .platformDefault) {
        notSupported = options.notSupportedByURLSession
        let executor = DelegateQueueExecutor(label: "AsyncUpload.SessionDelegate")
        proxy = SessionDelegateProxy(control: control)
        delegate = SessionDelegate(executor: executor, proxy: proxy, strategy: strategy, control: control)
        proxy.setDelegate(delegate)
        let configuration = URLSessionConfiguration.ephemeral
        // How many there are is decided before they get here; with a limit of its own the session would hold back some of them.
        configuration.httpMaximumConnectionsPerHost = Int(Int32.max)
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

    let countsExactly = false

    func send(_ outgoing: OutgoingRequest) async throws -> Transfer {
        guard let session = session.withLock({ $0 }) else { throw UploadError(.shutDown) }
        if let notSupported { throw UploadError(.optionNotSupported, detail: notSupported) }
        try Task.checkCancellation()
        var outgoing = outgoing
        let start = SuspendingClock.now
        let body = try await source(of: outgoing)
        outgoing.limits.elapsed += SuspendingClock.now - start
        let task = await withCheckedContinuation { continuation in
            control.async { [outgoing] in
                continuation.resume(returning: self.strategy.makeTask(for: outgoing, body, in: session))
            }
        }
        return try await delegate.start(task, for: outgoing, body)
    }

    /// What can be read anywhere: a session can neither wait for a stream's bytes without holding up its other tasks nor
    /// send, elsewhere than on Linux, a stream of ours.
    private func source(of outgoing: OutgoingRequest) async throws -> (any BodySource)? {
        let stream: BodyStream
        switch outgoing.body {
        case nil: return nil
        case .source(let source):
            guard strategy.needsFile(for: source) else { return source }
            stream = BodyStream(
                StreamRecipe(length: source.length, isReplayable: true) { try await StreamRecipe.send(source, to: $0) }
            )
        case .stream(let given): stream = given
        }
        return try await stream.spooled(keepingName: strategy.needsFileNames, within: outgoing.limits.remaining)
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
