import Foundation

/// One upload's life: its turn, its requests, their answers, the result.
///
/// The requests follow each other until one is answered for good: see ``RequestChain``. The body is opened when the
/// upload has its turn, so that those which wait hold no descriptors, and is closed with the last reference to it.
struct UploadDriver: Sendable {
    let request: URLRequest
    let body: UploadBody
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
        // What cannot be sent fails at once, not when its turn comes.
        let request = try checkedRequest(try body.open())
        try await queue.admission(of: ticket)
        let source = try body.open()
        var story = Story(meter: ProgressMeter(totalBytes: source.length, at: now()), start: now())
        do {
            return try await exchangeUntilAnswered(request, source, &story)
        } catch var error as UploadError {
            error.attempts = story.attempts
            error.response = error.response ?? story.answer.map { response(from: $0, story) }
            throw error
        }
    }

    /// What is known of an upload so far.
    private struct Story {
        var meter: ProgressMeter
        let start: ContinuousClock.Instant
        var attempts = 0
        /// How much of the body the last request that carried it has handed over.
        var bytesSent: Int64 = 0
        var answer: Answer?
    }

    /// A final response, whole or in part.
    private struct Answer {
        let head: HTTPURLResponse
        var body = Data()
    }

    private func checkedRequest(_ source: any BodySource) throws -> URLRequest {
        try RequestValidation.check(request, bodyLength: source.length)
        var request = request
        if let type = body.contentType, request.value(forHTTPHeaderField: "Content-Type") == nil {
            request.setValue(type, forHTTPHeaderField: "Content-Type")
        }
        return request
    }

    private func exchangeUntilAnswered(
        _ request: URLRequest,
        _ source: any BodySource,
        _ story: inout Story
    ) async throws -> UploadResponse {
        var chain = RequestChain(request, carriesBody: true, rules: configuration.chainRules)
        while true {
            let answer = try await exchange(chain.request, chain.carriesBody ? source : nil, &story)
            if try chain.advance(after: answer.head) { continue }
            return try accepted(answer, bodyLength: source.length, &story)
        }
    }

    /// Sends one request and takes in its answer.
    private func exchange(
        _ request: URLRequest,
        _ source: (any BodySource)?,
        _ story: inout Story
    ) async throws -> Answer {
        try Task.checkCancellation()
        story.attempts += 1
        story.answer = nil
        if source != nil {
            story.bytesSent = 0
            report(story.meter.beginRequest(at: now()))
        }
        let transfer = try await transport.send(
            OutgoingRequest(
                request: request,
                body: source,
                responseBodyLimit: configuration.responseBodyLimit,
                idleLimit: configuration.idleLimit(for: request)
            )
        )
        let failure = await follow(transfer, &story)
        // The upload keeps its place until its connection has been let go.
        await transfer.ended.wait()
        try Task.checkCancellation()
        if let failure, !isAnswered(story.answer, despite: failure) { throw failure }
        guard let answer = story.answer else { throw UploadError(.connectionLost, detail: "no final response") }
        return answer
    }

    /// Reads the events of an exchange to their end.
    private func follow(_ transfer: Transfer, _ story: inout Story) async -> (any Error)? {
        do {
            for try await event in transfer.events {
                switch event {
                case .sent(let bytes):
                    story.bytesSent = bytes
                    report(story.meter.sent(bytes, at: now()))
                case .interim: break
                case .head(let head): story.answer = Answer(head: head)
                case .data(let data): story.answer?.body.append(data)
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
        return [.connectionLost, .transferFailed].contains((failure as? UploadError)?.code)
    }

    private func accepted(_ answer: Answer, bodyLength: Int64, _ story: inout Story) throws -> UploadResponse {
        let response = response(from: answer, story)
        guard configuration.acceptableStatusCodes.contains(response.statusCode) else {
            let reason = HTTPURLResponse.localizedString(forStatusCode: response.statusCode)
            throw UploadError(.unacceptableStatus, detail: "\(response.statusCode) (\(reason))", response: response)
        }
        guard story.bytesSent == bodyLength else {
            throw UploadError(
                .bodyNotSent,
                detail: "\(story.bytesSent) of \(bodyLength) bytes",
                response: response
            )
        }
        report(story.meter.finished(at: now()))
        return response
    }

    private func response(from answer: Answer, _ story: Story) -> UploadResponse {
        UploadResponse(
            statusCode: answer.head.statusCode,
            headers: HTTPFields(answer.head),
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
