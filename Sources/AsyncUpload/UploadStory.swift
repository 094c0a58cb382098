import Foundation

/// What is known of an upload so far.
struct UploadStory: Sendable {
    /// A final response, whole or in part.
    struct Answer: Sendable {
        let head: ResponseHead
        var body = Data()
    }

    var meter: ProgressMeter
    private(set) var start: ContinuousClock.Instant
    private(set) var startDate: Date
    /// When it had its turn for the first time.
    private(set) var turn: SuspendingClock.Instant
    let hasUnknownLength: Bool
    /// Whether the last request that carried the body has handed over all of it.
    var isBodySent: Bool
    /// How much of the body that request has handed over; of a resumable upload, all its requests.
    var bytesSent: Int64 = 0 {
        didSet { mostBytesSent = max(mostBytesSent, bytesSent) }
    }
    /// How much of it any request has handed over.
    private(set) var mostBytesSent: Int64 = 0
    /// What has come of the last request.
    var answer: Answer?
    /// The last request as it was sent.
    private(set) var request: URLRequest
    /// The first request of the last attempt as it was sent: what another attempt would send again.
    private(set) var attemptRequest: URLRequest
    private var isAttemptNew = true
    /// Whether the server has acted on the last attempt's request, and was then only asked for the outcome.
    var isActedOn = false
    /// Whether the server has asked for the credential, and got it.
    var isChallenged = false
    var transactions: [UploadMetrics.Transaction] = []
    /// How many requests had been sent for the upload before those of this story.
    private var earlierRequestCount = 0
    /// Called with interim responses.
    var onInterim: (@Sendable (ResponseHead) -> Void)?
    /// How many attempts have followed the first one after a wait.
    private(set) var retryCount = 0
    /// How long it waited for further turns, and how much of that it was awake.
    var timeInQueue = Duration.zero
    var awakeInQueue = Duration.zero
    private var recoveryCount = 0
    private var lastRecovery: (code: UploadError.Code, statusCode: Int?)?

    init(_ request: URLRequest, _ body: OpenBody?, _ environment: DriverEnvironment) {
        // A request without a body has all of it sent.
        self.init(request, length: body.map(\.length) ?? 0, environment)
        isBodySent = body == nil
    }

    /// - Parameter length: that of the upload's body; `nil` when it is not known.
    init(_ request: URLRequest, length: Int64?, _ environment: DriverEnvironment) {
        self.request = request
        attemptRequest = request
        start = environment.now()
        startDate = environment.date()
        turn = environment.awake()
        meter = ProgressMeter(totalBytes: length, at: start)
        hasUnknownLength = length == nil
        isBodySent = false
    }

    /// The story of one of several requests that make up an upload; its times are the upload's.
    func chapter(of request: URLRequest, _ body: OpenBody?, _ environment: DriverEnvironment) -> UploadStory {
        var chapter = UploadStory(request, body, environment)
        (chapter.start, chapter.startDate, chapter.turn) = (start, startDate, turn)
        (chapter.timeInQueue, chapter.awakeInQueue) = (timeInQueue, awakeInQueue)
        chapter.isChallenged = isChallenged
        chapter.earlierRequestCount = requestCount
        return chapter
    }

    /// What a request of the upload has brought.
    mutating func add(_ chapter: UploadStory) {
        transactions += chapter.transactions
        isChallenged = isChallenged || chapter.isChallenged
    }

    /// How many requests have been sent for the upload.
    var requestCount: Int { earlierRequestCount + transactions.count }

    // MARK: Requests

    mutating func beginAttempt() {
        (isAttemptNew, isActedOn) = (true, false)
    }

    mutating func beginTransaction(_ request: URLRequest, at now: ContinuousClock.Instant) {
        self.request = request
        if isAttemptNew { (attemptRequest, isAttemptNew) = (request, false) }
        transactions.append(.init(url: request.url, start: now - start, end: now - start))
    }

    mutating func note(_ facts: ConnectionFacts) {
        guard let last = transactions.indices.last else { return }
        transactions[last].isReusedConnection = facts.isReused
        transactions[last].networkProtocolName = facts.networkProtocolName
        transactions[last].remoteAddress = facts.remoteAddress
        transactions[last].remotePort = facts.remotePort
    }

    /// - Parameter error: what went wrong, if there is no answer.
    mutating func endTransaction(_ error: (any Error)?, carriedBody: Bool, at now: ContinuousClock.Instant) {
        guard let last = transactions.indices.last else { return }
        transactions[last].end = now - start
        transactions[last].bytesSent = carriedBody ? bytesSent : 0
        transactions[last].statusCode = answer?.head.statusCode
        transactions[last].errorCode = (error as? UploadError)?.code
    }

    mutating func noteRedirect() {
        guard let last = transactions.indices.last else { return }
        transactions[last].isRedirected = true
    }

    // MARK: Recovery

    mutating func beginRetry() {
        retryCount += 1
        lastRecovery = nil
        answer = nil
    }

    /// Whether interceptors may be asked: not twice in a row for the same failure, and not for ever.
    mutating func mayRecover(from error: UploadError) -> Bool {
        let failure = (code: error.code, statusCode: error.response?.statusCode)
        let isSame = lastRecovery.map { $0 == failure } ?? false
        lastRecovery = nil
        return !isSame && recoveryCount < Self.recoveryLimit
    }

    mutating func noteRecovery(from error: UploadError) {
        recoveryCount += 1
        lastRecovery = (error.code, error.response?.statusCode)
    }

    private static let recoveryLimit = 10

    // MARK: The end

    func metrics(at now: ContinuousClock.Instant) -> UploadMetrics {
        UploadMetrics(bytesSent: bytesSent, duration: now - start, startDate: startDate, transactions: transactions)
    }

    func response(from answer: Answer, at now: ContinuousClock.Instant) -> UploadResponse {
        UploadResponse(
            statusCode: answer.head.statusCode,
            headers: answer.head.headers,
            body: answer.body.isEmpty ? nil : answer.body,
            url: answer.head.url,
            metrics: metrics(at: now)
        )
    }

    /// An error with all there is to say.
    func explained(_ error: UploadError, at now: ContinuousClock.Instant) -> UploadError {
        var error = error
        error.metrics = metrics(at: now)
        error.response = error.response ?? answer.map { response(from: $0, at: now) }
        error.response?.metrics = error.metrics
        return error
    }
}
