import Foundation

/// Removes what a server has of an upload that nobody goes on with.
struct ResumptionRemoval: Sendable {
    let driver: UploadDriver
    let home: RequestChain.Home
    /// Whether a server that does not do it at once is asked again, unless it only thinks that the upload is still under way.
    let isPatient: Bool

    private static let attemptLimit = 6
    private static let hastyAttemptLimit = 3

    /// Takes no longer than some seconds, all together.
    func run(_ removals: [ResumptionRequest]) async {
        let end = driver.environment.now() + .seconds(isPatient ? 15 : 5)
        for removal in removals {
            let rest = max(.zero, end - driver.environment.now())
            do {
                let failure = try await waiting(atMost: rest, orThrowing: Self.timeout) { await remove(removal) }
                driver.tell(.removal(failure))
            } catch {
                driver.tell(.removal(Self.timeout))
            }
        }
    }

    private static let timeout = UploadError(.timedOut, detail: "the server took too long")

    /// - Returns: what went wrong last.
    private func remove(_ removal: ResumptionRequest) async -> UploadError? {
        var failure: UploadError?
        var delay = Duration.milliseconds(250)
        for attempt in 0..<(isPatient ? Self.attemptLimit : Self.hastyAttemptLimit) {
            if attempt > 0 {
                try? await driver.environment.sleep(delay)
                delay += delay
            }
            failure = await failureOfOne(removal)
            guard let failure else { return nil }
            // Somebody is still at it, or so the server thinks: it may not have seen yet that the connection is gone.
            let isLocked = [409, 423].contains(failure.response?.statusCode)
            guard isLocked || isPatient && failure.isTransient else { break }
        }
        return failure
    }

    private func failureOfOne(_ removal: ResumptionRequest) async -> UploadError? {
        var driver = driver
        driver.report = { _ in }
        do {
            let request = try await removal.makeRequest()
            var story = UploadStory(request, nil, driver.environment)
            let answer = try await driver.finalAnswer(to: request, removal.ownBody, home: home, &story)
            let status = answer.head.statusCode
            let isRemoved = (200..<300).contains(status) || ResumptionRequest.removedStatusCodes.contains(status)
            return isRemoved ? nil : .refused(answer.head, answer.body)
        } catch {
            return error as? UploadError ?? UploadError(.transferFailed, underlying: error)
        }
    }
}
