import Foundation

/// One upload's life: its turn, its attempts, the waits between them, the result.
///
/// An attempt is a chain of requests, which ends when one is answered for good: see ``RequestChain``. After one that has
/// failed, ``RetryPolicy`` and then the interceptors say whether there is another. The body is opened when the upload
/// has its turn, and closed while it waits, so that those which wait hold no descriptors.
struct UploadDriver: Sendable {
    /// What it is called in ``UploadActivity``.
    let number: Int
    var request: URLRequest
    /// `nil` for a request without a body.
    let body: UploadBody?
    var configuration: Uploader.Configuration
    let transport: any Transport
    let queue: AdmissionQueue
    let ticket: AdmissionQueue.Ticket
    let environment: DriverEnvironment
    /// Called with each step of progress, in order.
    var report: @Sendable (UploadProgress) -> Void

    /// Runs the upload to its end. Cancelling the task ends it too, once the transport has let go of the connection.
    ///
    /// - Throws: ``UploadError`` or `CancellationError`.
    func run() async throws -> UploadResponse {
        defer { queue.leave(ticket) }
        do {
            var body: OpenBody?
            let request = try await openInTurn(&body)
            tell(.start)
            let response = try await attemptUntilDone(request, &body)
            tell(.success(response.metrics))
            return response
        } catch {
            tell(.failure(error))
            throw error
        }
    }

    func tell(_ event: UploadActivity.Event) {
        guard let tell = configuration.onActivity else { return }
        let method = request.httpMethod ?? "GET"
        tell(UploadActivity(uploadIdentifier: number, method: method, url: request.url, event: event))
    }

    // MARK: Before the first request

    /// What cannot be sent fails at once, not when its turn comes; what waits for its turn holds nothing open.
    func openInTurn(_ opened: inout OpenBody?) async throws -> URLRequest {
        opened = try openBody()
        let request = try checkedRequest(length: opened.map(\.length) ?? 0)
        if !queue.isAdmitted(ticket) {
            opened = nil
            try await queue.admission(of: ticket)
        }
        try Task.checkCancellation()
        opened = try opened ?? openBody()
        return request
    }

    /// A request whose method has no body gets none that is empty either: a transport might wait for one to come back.
    func openBody() throws -> OpenBody? {
        let opened = try body?.open()
        return opened?.length == 0 && RequestValidation.isBodiless(request) ? nil : opened
    }

    private func checkedRequest(length: Int64?) throws -> URLRequest {
        try RequestValidation.check(request, bodyLength: length)
        var request = request
        configuration.idempotencyKey.apply(to: &request)
        guard let body else { return request }
        let given = request.value(forHTTPHeaderField: "Content-Type")
        if let type = given.map(body.contentType(replacing:)) ?? body.contentType, type != given {
            request.setValue(type, forHTTPHeaderField: "Content-Type")
        }
        return request
    }

    // MARK: Attempts

    private enum Next {
        case wait(Duration)
        case again
        case end(UploadError)
    }

    /// - Parameter body: nobody else may hold it, or it would stay open in the waits.
    private func attemptUntilDone(_ request: URLRequest, _ body: inout OpenBody?) async throws -> UploadResponse {
        let files = body?.files
        var story = UploadStory(request, body, environment)
        while true {
            do {
                return try await attempt(request, body, &story)
            } catch let error as UploadError {
                let error = story.explained(error, at: environment.now())
                switch await next(after: error, body, &story) {
                case .end(let error): throw error
                case .again: tell(.recovery(from: error))
                case .wait(let delay):
                    tell(.wait(delay, after: error))
                    body = body?.resting
                    do {
                        try await wait(delay, after: error, &story)
                        body = try body ?? openBody()
                        guard body?.files == files else {
                            throw UploadError(.fileChanged, detail: "since it was sent last")
                        }
                    } catch let error as UploadError {
                        throw story.explained(error, at: environment.now())
                    }
                }
            }
        }
    }

    private func next(after error: UploadError, _ body: OpenBody?, _ story: inout UploadStory) async -> Next {
        let policy = configuration.retry
        var judged = error
        if story.isActedOn { judged.mayHaveReachedServer = true }
        let failure = RetryPolicy.Failure(
            judged,
            of: story.attemptRequest,
            retryCount: story.retryCount,
            elapsed: environment.now() - story.start - story.timeInQueue,
            date: environment.date()
        )
        let random = environment.random()
        let delay = policy.delay(after: failure, random: random)
        let pause = refusalPause(after: failure, delay, random, story)
        if let pause { queue.refused(ticket, delay: pause) }
        let isSpent = body?.isSpent ?? false
        if let delay {
            return isSpent ? .end(Self.notReplayable(after: error)) : wait(delay, orEndAfter: error, story)
        }
        let mayRepeat = !story.isActedOn || story.attemptRequest.isIdempotent || policy.retriesAllMethods
        guard mayRepeat, !isSpent, story.mayRecover(from: error) else { return .end(error) }
        let (request, attempt) = (story.request, story.requestCount)
        for interceptor in configuration.interceptors where !Task.isCancelled {
            let recovery = try? await waitingForApp(story) {
                await interceptor.recover(from: error, of: request, attempt: attempt)
            }
            guard recovery == .retry else { continue }
            story.noteRecovery(from: error)
            return pause.map { wait($0, orEndAfter: error, story) } ?? .again
        }
        return .end(error)
    }

    /// - Returns: how long the server is spared; `nil` unless it has too much to do. Of others than the one that the upload is
    ///   addressed to nothing is known to those that wait.
    private func refusalPause(
        after failure: RetryPolicy.Failure,
        _ delay: Duration?,
        _ random: Double,
        _ story: UploadStory
    ) -> Duration? {
        guard configuration.retry.limit > 0, let status = story.answer?.head.statusCode, Self.isRefusal(status),
            Origin(story.request.url) == Origin(request.url)
        else { return nil }
        return delay ?? configuration.retry.wait(after: failure, random: random)
    }

    private func wait(_ delay: Duration, orEndAfter error: UploadError, _ story: UploadStory) -> Next {
        let remaining = configuration.timeLimits(for: request, after: elapsed(story)).remaining
        return remaining > delay ? .wait(delay) : .end(error)
    }

    /// Whether the server has too much to do; see ``Admission`` for what becomes of that.
    static func isRefusal(_ statusCode: Int) -> Bool {
        statusCode == 429 || statusCode == 503
    }

    private static func notReplayable(after error: UploadError) -> UploadError {
        UploadError(
            .bodyNotReplayable,
            detail: "after \(error.reason)",
            response: error.response,
            metrics: error.metrics,
            underlying: error
        )
    }

    /// How much of the time for the whole upload has gone by.
    func elapsed(_ story: UploadStory) -> Duration {
        environment.awake() - story.turn - story.awakeInQueue
    }

    /// Waits, tells how long that still takes, and then waits for another turn.
    private func wait(_ delay: Duration, after error: UploadError, _ story: inout UploadStory) async throws {
        story.beginRetry()
        queue.stepAside(ticket)
        let end = environment.now() + delay
        while true {
            let rest = max(.zero, end - environment.now())
            report(story.meter.waiting(for: rest, after: error.reason))
            guard rest > .zero else { break }
            try await environment.sleep(min(rest, .seconds(1)))
        }
        let start = (now: environment.now(), awake: environment.awake())
        queue.rejoin(ticket)
        try await queue.admission(of: ticket)
        story.timeInQueue += environment.now() - start.now
        story.awakeInQueue += environment.awake() - start.awake
    }
}
