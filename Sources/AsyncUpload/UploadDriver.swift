import Foundation

/// One upload's life: its turn, its requests, their answers, the result.
///
/// The requests follow each other until one is answered for good: see ``RequestChain``. The body is opened when the
/// upload has its turn, so that those which wait hold no descriptors, and is closed with the last reference to it.
struct UploadDriver: Sendable {
    let request: URLRequest
    /// `nil` for a request without a body.
    let body: UploadBody?
    let configuration: Uploader.Configuration
    let transport: any Transport
    let queue: AdmissionQueue
    let ticket: AdmissionQueue.Ticket
    /// Called with each step of progress, in order.
    let report: @Sendable (UploadProgress) -> Void
    var now: @Sendable () -> ContinuousClock.Instant = { .now }

    /// Runs the upload to its end. Cancelling the task ends it too, once the transport has let go of the connection.
    ///
    /// - Throws: ``UploadError`` or `CancellationError`.
    func run() async throws -> UploadResponse {
        defer { queue.leave(ticket) }
        let (request, body) = try await openInTurn()
        // A request without a body has all of it sent.
        let length = body.map(\.length) ?? 0
        var story = Story(
            meter: ProgressMeter(totalBytes: length, at: now()),
            start: now(),
            hasUnknownLength: length == nil,
            isBodySent: body == nil
        )
        do {
            return try await exchangeUntilAnswered(request, body, &story)
        } catch var error as UploadError {
            error.attempts = story.attempts
            error.response = error.response ?? story.answer.map { response(from: $0, story) }
            throw error
        }
    }

    /// What cannot be sent fails at once, not when its turn comes; what waits for its turn holds nothing open.
    private func openInTurn() async throws -> (URLRequest, OpenBody?) {
        var opened = try openBody()
        let request = try checkedRequest(length: opened.map(\.length) ?? 0)
        if !queue.isAdmitted(ticket) {
            opened = nil
            try await queue.admission(of: ticket)
        }
        try Task.checkCancellation()
        return (request, try opened ?? openBody())
    }

    /// A request whose method has no body gets none that is empty either: a transport might wait for one to come back.
    private func openBody() throws -> OpenBody? {
        let opened = try body?.open()
        return opened?.length == 0 && RequestValidation.isBodiless(request) ? nil : opened
    }

    /// What is known of an upload so far.
    private struct Story {
        var meter: ProgressMeter
        let start: ContinuousClock.Instant
        /// When it had its turn; time asleep does not count for its limits.
        let turn = SuspendingClock.now
        let hasUnknownLength: Bool
        /// Whether the last request that carried the body has handed over all of it.
        var isBodySent: Bool
        var attempts = 0
        /// How much of the body that request has handed over.
        var bytesSent: Int64 = 0
        var answer: Answer?
    }

    /// A final response, whole or in part.
    private struct Answer {
        let head: ResponseHead
        var body = Data()
    }

    private func checkedRequest(length: Int64?) throws -> URLRequest {
        try RequestValidation.check(request, bodyLength: length)
        var request = request
        guard let body else { return request }
        let given = request.value(forHTTPHeaderField: "Content-Type")
        if let type = given.map(body.contentType(replacing:)) ?? body.contentType, type != given {
            request.setValue(type, forHTTPHeaderField: "Content-Type")
        }
        return request
    }

    private func exchangeUntilAnswered(
        _ request: URLRequest,
        _ body: OpenBody?,
        _ story: inout Story
    ) async throws -> UploadResponse {
        var chain = RequestChain(request, carriesBody: body != nil, rules: configuration.chainRules)
        while true {
            let answer = try await exchange(chain.request, chain.carriesBody ? body : nil, &story)
            guard try chain.advance(after: answer.head) else { return try accepted(answer, body?.length, &story) }
            if chain.carriesBody, body?.isSpent == true {
                throw UploadError(.bodyNotReplayable, detail: "the server answered \(answer.head.statusCode)")
            }
        }
    }

    /// Sends one request and takes in its answer.
    private func exchange(
        _ request: URLRequest,
        _ body: OpenBody?,
        _ story: inout Story
    ) async throws -> Answer {
        try Task.checkCancellation()
        story.attempts += 1
        story.answer = nil
        if let body {
            (story.bytesSent, story.isBodySent) = (0, body.length == 0)
            report(story.meter.beginRequest(at: now()))
        }
        let transfer = try await transport.send(
            OutgoingRequest(
                request: request,
                body: body,
                responseBodyLimit: configuration.responseBodyLimit,
                limits: configuration.timeLimits(for: request, after: SuspendingClock.now - story.turn)
            )
        )
        let failure = await follow(transfer, &story)
        // The upload keeps its place until its connection has been let go.
        await transfer.ended.wait()
        try Task.checkCancellation()
        if let failure, !isAnswered(story.answer, despite: failure) { throw failure }
        guard let answer = story.answer else {
            throw UploadError(.connectionLostAfterBody, detail: "no final response")
        }
        return answer
    }

    /// Reads the events of an exchange to their end.
    private func follow(_ transfer: Transfer, _ story: inout Story) async -> (any Error)? {
        do {
            for try await event in transfer.events {
                switch event {
                case .sent(let bytes):
                    (story.bytesSent, story.isBodySent) = (bytes, false)
                    report(story.meter.sent(bytes, at: now()))
                case .bodyEnd:
                    story.isBodySent = true
                    // Otherwise that has been told with the last bytes.
                    if story.hasUnknownLength { report(story.meter.finished(at: now())) }
                case .interim: break
                case .head(let head): story.answer = Answer(head: head)
                case .data(let data): story.answer?.body.append(data)
                case .connection: break
                }
            }
            return nil
        } catch {
            return error
        }
    }

    /// A server that refuses an upload may well cut the connection before the reason has arrived whole; the status is
    /// worth more than the news that the connection is gone.
    private func isAnswered(_ answer: Answer?, despite failure: any Error) -> Bool {
        guard let answer, !configuration.acceptableStatusCodes.contains(answer.head.statusCode) else { return false }
        guard let code = (failure as? UploadError)?.code else { return false }
        return code.isConnectionLoss || code == .transferFailed
    }

    private func accepted(_ answer: Answer, _ length: Int64?, _ story: inout Story) throws -> UploadResponse {
        let response = response(from: answer, story)
        guard configuration.acceptableStatusCodes.contains(response.statusCode) else {
            let reason = HTTPURLResponse.localizedString(forStatusCode: response.statusCode)
            throw UploadError(.unacceptableStatus, detail: "\(response.statusCode) (\(reason))", response: response)
        }
        guard story.isBodySent else {
            let whole = length.map { " of \($0)" } ?? ""
            throw UploadError(.bodyNotSent, detail: "\(story.bytesSent)\(whole) bytes", response: response)
        }
        report(story.meter.finished(at: now()))
        return response
    }

    private func response(from answer: Answer, _ story: Story) -> UploadResponse {
        UploadResponse(
            statusCode: answer.head.statusCode,
            headers: answer.head.headers,
            body: answer.body.isEmpty ? nil : answer.body,
            url: answer.head.url,
            metrics: UploadMetrics(
                bytesSent: story.bytesSent,
                duration: now() - story.start,
                attempts: story.attempts
            )
        )
    }
}
