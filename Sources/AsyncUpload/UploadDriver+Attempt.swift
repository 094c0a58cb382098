import Foundation

extension UploadDriver {
    /// Sends requests until one is answered for good, and takes that answer for the upload's.
    func attempt(
        _ request: URLRequest,
        _ body: OpenBody?,
        _ story: inout UploadStory
    ) async throws -> UploadResponse {
        let answer = try await finalAnswer(to: request, body, &story)
        return try accepted(answer, body?.length, &story)
    }

    /// Sends requests until one is answered for good.
    ///
    func finalAnswer(
        to request: URLRequest,
        _ body: OpenBody?,
        home: RequestChain.Home = .ownOrigin,
        _ story: inout UploadStory
    ) async throws -> UploadStory.Answer {
        var chain = RequestChain(
            request,
            carriesBody: body != nil,
            rules: configuration.chainRules,
            home: home,
            isChallenged: story.isChallenged
        )
        story.beginAttempt()
        defer { story.isChallenged = chain.hasAnsweredChallenge }
        while true {
            let answer = try await exchange(&chain, chain.carriesBody ? body : nil, &story)
            let (goesOn, failure) = Self.advance(&chain, after: answer.head)
            if goesOn, (300..<400).contains(answer.head.statusCode) { story.noteRedirect() }
            if chain.request.httpMethod != request.httpMethod { story.isActedOn = true }
            story.transactions.last.map { tell(.transaction($0)) }
            if let failure { throw failure }
            guard goesOn else { return answer }
            if chain.carriesBody, body?.isSpent == true {
                throw UploadError(.bodyNotReplayable, detail: "the server answered \(answer.head.statusCode)")
            }
        }
    }

    private static func advance(_ chain: inout RequestChain, after head: ResponseHead) -> (Bool, (any Error)?) {
        do {
            return (try chain.advance(after: head), nil)
        } catch {
            return (false, error)
        }
    }

    /// Sends one request and takes in its answer.
    private func exchange(
        _ chain: inout RequestChain,
        _ body: OpenBody?,
        _ story: inout UploadStory
    ) async throws -> UploadStory.Answer {
        try Task.checkCancellation()
        story.answer = nil
        let request = try await prepared(&chain, body, story)
        try Task.checkCancellation()
        story.beginTransaction(request, at: environment.now())
        if let body {
            (story.bytesSent, story.isBodySent) = (0, body.length == 0)
            report(story.meter.beginRequest(at: environment.now()))
        }
        do {
            let answer = try await answer(to: request, body, &story)
            story.endTransaction(nil, carriedBody: body != nil, at: environment.now())
            return answer
        } catch {
            story.endTransaction(error, carriedBody: body != nil, at: environment.now())
            story.transactions.last.map { tell(.transaction($0)) }
            throw error
        }
    }

    /// The request that the interceptors make of the next one.
    private func prepared(
        _ chain: inout RequestChain,
        _ body: OpenBody?,
        _ story: UploadStory
    ) async throws -> URLRequest {
        guard !configuration.interceptors.isEmpty else { return chain.request }
        let attempt = story.requestCount + 1
        var request = chain.request
        for interceptor in configuration.interceptors {
            do {
                request = try await waitingForApp(story) { [request] in
                    try await interceptor.prepare(request, attempt: attempt)
                }
            } catch let error as UploadError {
                throw error
            } catch {
                try Task.checkCancellation()
                throw UploadError(.interceptorFailed, detail: error.localizedDescription, underlying: error)
            }
        }
        chain.adopt(&request)
        try RequestValidation.check(request, bodyLength: body.map(\.length) ?? 0)
        return request
    }

    /// What the app does may ask a server that does not answer.
    func waitingForApp<Value: Sendable>(
        _ story: UploadStory,
        for work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let remaining = configuration.timeLimits(for: request, after: elapsed(story)).remaining
        return try await waiting(
            atMost: configuration.timeoutIntervalForResource.isFinite ? remaining : nil,
            orThrowing: UploadError(.timedOut, detail: "the app took until the end"),
            for: work
        )
    }

    private func answer(
        to request: URLRequest,
        _ body: OpenBody?,
        _ story: inout UploadStory
    ) async throws -> UploadStory.Answer {
        let transfer = try await transport.send(
            OutgoingRequest(
                request: request,
                body: body,
                responseBodyLimit: configuration.responseBodyLimit,
                limits: configuration.timeLimits(for: request, after: elapsed(story))
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
    private func follow(_ transfer: Transfer, _ story: inout UploadStory) async -> (any Error)? {
        do {
            for try await events in transfer.events {
                for event in events { take(event, &story) }
            }
            return nil
        } catch {
            return error
        }
    }

    private func take(_ event: TransferEvent, _ story: inout UploadStory) {
        switch event {
        case .sent(let bytes):
            (story.bytesSent, story.isBodySent) = (bytes, false)
            report(story.meter.sent(bytes, at: environment.now()))
        case .bodyEnd:
            story.isBodySent = true
            // Otherwise that has been told with the last bytes.
            if story.hasUnknownLength { report(story.meter.finished(at: environment.now())) }
        case .interim(let head): story.onInterim?(head)
        case .head(let head): story.answer = UploadStory.Answer(head: head)
        case .data(let data): story.answer?.body.append(data)
        case .connection(let facts): story.note(facts)
        }
    }

    /// A server that refuses an upload may well cut the connection before the reason has arrived whole; the status is
    /// worth more than the news that the connection is gone.
    private func isAnswered(_ answer: UploadStory.Answer?, despite failure: any Error) -> Bool {
        guard let answer, !configuration.acceptableStatusCodes.contains(answer.head.statusCode) else { return false }
        guard let code = (failure as? UploadError)?.code else { return false }
        return code.isConnectionLoss || code == .transferFailed
    }

    private func accepted(
        _ answer: UploadStory.Answer,
        _ length: Int64?,
        _ story: inout UploadStory
    ) throws -> UploadResponse {
        if !Self.isRefusal(answer.head.statusCode) { queue.accepted(ticket) }
        let response = story.response(from: answer, at: environment.now())
        guard configuration.acceptableStatusCodes.contains(response.statusCode) else {
            let reason = HTTPURLResponse.localizedString(forStatusCode: response.statusCode)
            throw UploadError(.unacceptableStatus, detail: "\(response.statusCode) (\(reason))", response: response)
        }
        guard story.isBodySent else {
            let whole = length.map { " of \($0)" } ?? ""
            throw UploadError(.bodyNotSent, detail: "\(story.bytesSent)\(whole) bytes", response: response)
        }
        report(story.meter.finished(at: environment.now()))
        return response
    }
}
