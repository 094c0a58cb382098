import Foundation

/// Removes what a server has of an upload that nobody goes on with.
struct ResumptionRemoval: Sendable {
    let driver: UploadDriver
    let home: Origin?
    /// Whether a server that does not do it at once is asked again.
    let isPatient: Bool

    private static let attemptLimit = 6
    private static let impatience: TimeInterval = 5

    func run(_ removals: [ResumptionRequest]) async {
        for removal in removals { driver.tell(.removal(await remove(removal))) }
    }

    /// - Returns: what went wrong last.
    private func remove(_ removal: ResumptionRequest) async -> UploadError? {
        var failure: UploadError?
        var delay = Duration.milliseconds(250)
        for attempt in 0..<(isPatient ? Self.attemptLimit : 1) {
            if attempt > 0 {
                try? await driver.environment.sleep(delay)
                delay += delay
            }
            failure = await failureOfOne(removal)
            guard let failure else { return nil }
            // Somebody is still at it, or so the server thinks.
            let isLocked = [409, 423].contains(failure.response?.statusCode)
            guard isLocked || failure.isTransient else { break }
        }
        return failure
    }

    private func failureOfOne(_ removal: ResumptionRequest) async -> UploadError? {
        var driver = driver
        driver.report = { _ in }
        if !isPatient { driver.configuration.timeoutIntervalForResource = Self.impatience }
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
