import Foundation

/// Carries out one step of a resumable upload.
struct ResumptionStepper: Sendable {
    let driver: UploadDriver
    let body: ResumableBody
    let home: RequestChain.Home
    let post: @Sendable (ResumptionStepNews) -> Void

    /// Sends a request, and what redirects and challenges make of it.
    func send(_ step: ResumptionRequest, _ story: UploadStory) async -> ResumptionStepNews {
        var chapter = story.chapter(of: driver.request, nil, driver.environment)
        do {
            let request = step.isAsked ? try await asking(story, step.makeRequest) : try await step.makeRequest()
            let body: OpenBody? =
                if case .part(let range) = step.body { .source(try await body.part(range)) } else { step.ownBody }
            try RequestValidation.check(request, bodyLength: body.map(\.length) ?? 0)
            chapter = story.chapter(of: request, body, driver.environment)
            chapter.onInterim = { [post] in post(.interim($0)) }
            var driver = driver
            driver.report = { _ in }
            if case .part = step.body { driver.report = { [post] in post(.sent($0.bytesSent)) } }
            let answer = try await driver.finalAnswer(to: request, body, home: home, &chapter)
            return .ended(.response(answer.head, answer.body), chapter: chapter)
        } catch let error as UploadError {
            return .ended(.failure(error), chapter: chapter)
        } catch {
            return .cancelled(chapter: chapter)
        }
    }

    /// Asks the app.
    func answer(
        to question: @escaping @Sendable () async throws -> String,
        _ story: UploadStory
    ) async -> ResumptionStepNews {
        await news { .answer(try await asking(story, question)) }
    }

    /// Makes the bytes of a stream ready.
    func bytes(from offset: Int64, _ count: Int, _ story: UploadStory) async -> ResumptionStepNews {
        await news {
            let (end, isEnd) = try await driver.waitingForApp(story) { [body] in
                try await body.load(from: offset, count: count)
            }
            return .ready(end: end, isEnd: isEnd)
        }
    }

    private func news(of work: () async throws -> ResumptionOutcome) async -> ResumptionStepNews {
        do {
            return .ended(try await work(), chapter: nil)
        } catch let error as UploadError {
            return .ended(.failure(error), chapter: nil)
        } catch {
            return .cancelled(chapter: nil)
        }
    }

    /// Waits for the app, but not when the upload is cancelled or its time is up. What it calls a failure that may pass is one.
    private func asking<Answer: Sendable>(
        _ story: UploadStory,
        _ question: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        do {
            return try await driver.waitingForApp(story, for: question)
        } catch let error as UploadError {
            throw error
        } catch {
            try Task.checkCancellation()
            throw UploadError(.interceptorFailed, detail: error.localizedDescription, underlying: error)
        }
    }
}

extension ResumptionRequest {
    /// What it sends, if that is no part of the upload's body.
    var ownBody: OpenBody? {
        if case .data(let data) = body { .source(DataBodySource(data)) } else { nil }
    }

    /// What says that an upload is not there, which is all that a removal wants. 499 is what Google Cloud Storage answers.
    static let removedStatusCodes: Set<Int> = [404, 410, 499]
}
