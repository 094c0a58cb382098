import Foundation

/// Carries out one step of a resumable upload.
struct ResumptionStepper: Sendable {
    let driver: UploadDriver
    let body: ResumableBody
    let home: Origin?
    let post: @Sendable (ResumptionStepNews) -> Void

    /// Sends a request, and what redirects and challenges make of it.
    func send(_ step: ResumptionRequest, _ story: UploadStory) async -> ResumptionStepNews {
        var chapter = story.chapter(of: driver.request, nil, driver.environment)
        do {
            let request = try await Self.request(of: step)
            let body: OpenBody? =
                if case .part(let range) = step.body { .source(try await body.part(range)) } else { step.ownBody }
            try RequestValidation.check(request, bodyLength: body.map(\.length) ?? 0)
            chapter = story.chapter(of: request, body, driver.environment)
            chapter.onInterim = { [post] in post(.interim($0)) }
            var driver = driver
            driver.report = { [post] in post(.sent($0.bytesSent)) }
            if body == nil { driver.report = { _ in } }
            let answer = try await driver.finalAnswer(to: request, body, home: home, &chapter)
            return .ended(.response(answer.head, answer.body), chapter: chapter)
        } catch let error as UploadError {
            return .ended(.failure(error), chapter: chapter)
        } catch {
            return .cancelled(chapter: chapter)
        }
    }

    private static func request(of step: ResumptionRequest) async throws -> URLRequest {
        do {
            return try await step.makeRequest()
        } catch {
            throw try unanswered(error)
        }
    }

    /// Asks the app.
    static func answer(to question: @Sendable () async throws -> String) async -> ResumptionOutcome {
        do {
            return .answer(try await question())
        } catch {
            return .failure((try? unanswered(error)) ?? UploadError(.interceptorFailed, underlying: error))
        }
    }

    /// Makes the bytes of a stream ready.
    static func bytes(of body: ResumableBody, from offset: Int64, _ count: Int) async -> ResumptionOutcome {
        do {
            let (end, isEnd) = try await body.load(from: offset, count: count)
            return .ready(end: end, isEnd: isEnd)
        } catch {
            return .failure(error as? UploadError ?? UploadError(.bodyUnreadable, underlying: error))
        }
    }

    /// The error for an app that has no answer. What it calls transient is.
    private static func unanswered(_ error: any Error) throws -> UploadError {
        if let error = error as? UploadError { return error }
        if error is CancellationError { throw error }
        return UploadError(.interceptorFailed, detail: error.localizedDescription, underlying: error)
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
