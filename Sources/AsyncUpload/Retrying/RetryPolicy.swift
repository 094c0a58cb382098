public import Foundation

/// Whether an upload that has failed is attempted again, and how long it waits before that.
///
/// An attempt is repeated when the failure may pass and the request may be sent twice. Failures that may pass are those of
/// name resolution and of the connection, time limits but that for the whole upload, and the statuses in ``statusCodes``,
/// with 413 where the server says when to come back. A file that cannot be read, a certificate that is not trusted, an
/// answer that is no HTTP, a refused redirect and a cancellation are final.
///
/// A request may be sent twice if its method is idempotent (RFC 9110 §9.2.2), it has an `Idempotency-Key`, nothing of it can
/// have reached the server, or ``retriesAllMethods`` says so. Its body must be one that can be read again.
///
/// The waits grow exponentially, with full jitter: each is chosen at random between none and ``initialDelay``, then between
/// none and twice as much, and so on up to ``maximumDelay``. A server's `Retry-After` (RFC 9110 §10.2.3) is the least wait, up
/// to the same limit. A wait holds no connection, no open file and no place among the uploads in flight; only a stream that
/// `URLSession` has put into a temporary file keeps that.
///
/// A server that an upload is addressed to, and that answers 429 or 503, is also spared by the other uploads of the same ``Uploader`` to it: they wait as well, and
/// then come back a few at a time. A policy without further attempts (``none``) leaves that out.
public struct RetryPolicy: Sendable, Hashable {
    /// How many attempts may follow the first one.
    public var limit: Int

    /// The longest wait before the first of them.
    public var initialDelay: Duration

    /// The longest wait of all.
    public var maximumDelay: Duration

    /// How long after its first attempt an upload may still begin another one; `nil` for any time. What it spends waiting
    /// for its turn does not count.
    public var timeLimit: Duration?

    /// The statuses after which a request is repeated; 413 is so anyway if the server says when to come back.
    public var statusCodes: Set<Int> = [408, 425, 429, 500, 502, 503, 504]

    /// Whether requests are repeated that are not idempotent, such as POST and PATCH: the server may then act on one twice.
    public var retriesAllMethods = false

    /// One attempt only.
    public static let none = exponential(limit: 0)

    /// Up to so many further attempts, after waits that grow exponentially.
    public static func exponential(
        limit: Int = 3,
        initialDelay: Duration = .milliseconds(500),
        maximumDelay: Duration = .seconds(120),
        timeLimit: Duration? = nil
    ) -> RetryPolicy {
        RetryPolicy(limit: limit, initialDelay: initialDelay, maximumDelay: maximumDelay, timeLimit: timeLimit)
    }

    private init(limit: Int, initialDelay: Duration, maximumDelay: Duration, timeLimit: Duration?) {
        self.limit = limit
        self.initialDelay = initialDelay
        self.maximumDelay = maximumDelay
        self.timeLimit = timeLimit
    }
}

extension RetryPolicy {
    /// An attempt that has failed.
    public struct Failure: Sendable {
        /// What went wrong.
        public var error: UploadError
        /// What would be sent again.
        public var request: URLRequest
        /// How many attempts have followed the first one so far.
        public var retryCount: Int
        /// How long ago the first attempt began.
        public var elapsed: Duration
        /// What time it is.
        public var date: Date

        /// Makes a failure; of use in tests.
        public init(
            _ error: UploadError,
            of request: URLRequest,
            retryCount: Int = 0,
            elapsed: Duration = .zero,
            date: Date = Date()
        ) {
            self.error = error
            self.request = request
            self.retryCount = retryCount
            self.elapsed = elapsed
            self.date = date
        }
    }

    /// How long to wait before the next attempt; `nil` when there is none.
    ///
    /// - Parameters:
    ///   - failure: what has happened.
    ///   - random: a number in `0..<1`, which chooses the wait.
    public func delay(after failure: Failure, random: Double) -> Duration? {
        guard mayPass(failure), mayRepeat(failure) else { return nil }
        return delayToGoOn(after: failure, random: random)
    }

    /// The same for a failure that may pass after a request that may be repeated, whatever it looks like.
    func delayToGoOn(after failure: Failure, random: Double) -> Duration? {
        guard failure.retryCount < limit else { return nil }
        let delay = wait(after: failure, random: random)
        if let timeLimit, failure.elapsed + delay > timeLimit { return nil }
        return delay
    }

    /// How long to wait after a failure if it is to be repeated.
    func wait(after failure: Failure, random: Double) -> Duration {
        let part = random.isNaN ? 1 : min(max(random, 0), 1)
        let jittered = Duration.seconds(longestWait(after: failure.retryCount) / .seconds(1) * part)
        let asked = failure.error.response.flatMap { RetryAfter.delay(in: $0.headers, at: failure.date) } ?? .zero
        return max(.zero, min(max(jittered, asked), maximumDelay))
    }

    /// Doubles step by step: the product might be more than a duration can hold.
    private func longestWait(after retryCount: Int) -> Duration {
        var wait = max(.zero, initialDelay)
        for _ in 0..<max(0, retryCount) {
            guard wait > .zero, wait < maximumDelay else { break }
            wait += wait
        }
        return min(wait, max(.zero, maximumDelay))
    }

    private func mayPass(_ failure: Failure) -> Bool {
        switch failure.error.code {
        case .hostNotFound, .cannotConnect, .connectionLostBeforeBody, .connectionLostDuringBody,
            .connectionLostAfterBody, .timedOut, .stalled, .transferFailed:
            return true
        case .unacceptableStatus:
            guard let response = failure.error.response else { return false }
            if response.statusCode == 413, response.headers["Retry-After"] != nil { return true }
            return statusCodes.contains(response.statusCode)
        default:
            return false
        }
    }

    private func mayRepeat(_ failure: Failure) -> Bool {
        retriesAllMethods || failure.request.isIdempotent || !failure.error.mayHaveReachedServer
    }
}
