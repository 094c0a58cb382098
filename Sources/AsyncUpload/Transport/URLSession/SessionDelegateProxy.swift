import Foundation

/// The object that a session has as its delegate: forwards each callback to the actor that runs on the same queue.
final class SessionDelegateProxy: NSObject {
    /// The readers of the tasks that send a stream. New streams are asked for on the session's own queue, where the
    /// actor cannot be reached.
    let readers = Locked<[Int: BodyReader]>([:])

    /// Where answers to the session are given, since it may have to be waited for.
    private let control: DispatchQueue

    /// Where the callbacks go. Set before the session exists, and let go when it is invalidated.
    private let delegate = Locked<SessionDelegate?>(nil)

    /// Opens when the session has let go of everything, this object included.
    let invalidated = Gate()

    init(control: DispatchQueue) {
        self.control = control
    }

    func setDelegate(_ delegate: SessionDelegate) {
        self.delegate.withLock { $0 = delegate }
    }

    /// Gives an answer that the session waits for.
    ///
    /// FoundationNetworking ends the process when it gets one for a task that has been cancelled in the meantime. Tasks are
    /// cancelled on the same queue, so one that runs here still runs when the session takes the answer in.
    func answer(_ task: URLSessionTask, _ body: @escaping @Sendable () -> Void) {
        control.async {
            guard !Platform.usesFoundationNetworking || task.state == .running else { return }
            body()
        }
    }

    func forward(_ body: @Sendable (isolated SessionDelegate) -> Void) {
        guard let delegate = delegate.withLock({ $0 }) else { return }
        delegate.assumeIsolated { body($0) }
    }
}

extension SessionDelegateProxy: URLSessionDataDelegate {
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        let number = task.taskIdentifier
        forward { $0.didSend(number, totalBytesSent: totalBytesSent) }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        let reader = readers.withLock { $0[task.taskIdentifier] }
        completionHandler(reader?.makeStream())
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let number = dataTask.taskIdentifier
        if let head = response as? HTTPURLResponse { forward { $0.didReceive(number, head: ResponseHead(head)) } }
        answer(dataTask) { completionHandler(.allow) }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let number = dataTask.taskIdentifier
        forward { $0.didReceive(number, data: data) }
    }

    /// Refuses every redirect: on Linux the body would be lost, and which headers may go along is for the driver to say.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        answer(task) { completionHandler(nil) }
    }

    /// Declines every challenge to the user, so that the 401 itself is the response; server trust stays with the system.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        // A proxy's credentials are the system's business, where there is a system for it.
        let isForSystem = challenge.protectionSpace.isProxy() && !Platform.usesFoundationNetworking
        guard challenge.protectionSpace.isForUser, !isForSystem else {
            answer(task) { completionHandler(.performDefaultHandling, nil) }
            return
        }
        let number = task.taskIdentifier
        forward { $0.didDeclineChallenge(number) }
        answer(task) { completionHandler(.rejectProtectionSpace, nil) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let number = task.taskIdentifier
        let lastHead = (task.response as? HTTPURLResponse).map(ResponseHead.init)
        let bytesSent = task.countOfBytesSent
        forward { $0.didComplete(number, error: error, lastHead: lastHead, bytesSent: bytesSent) }
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        // The delegate holds this object, too.
        let delegate = delegate.withLock { $0.take() }
        invalidated.open()
        _ = delegate
    }
}

extension URLProtectionSpace {
    /// Whether it asks who the user is, and not whether the server is to be trusted.
    fileprivate var isForUser: Bool {
        [
            NSURLAuthenticationMethodDefault, NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodHTTPDigest,
            NSURLAuthenticationMethodHTMLForm, NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate,
        ].contains(authenticationMethod)
    }
}
