import Foundation
import Testing

@testable import AsyncUpload

/// How one upload went, as its reader saw it. Making one checks what holds for every upload: one end, progress that is
/// finite, in 0...1 and never goes back, nothing after the response, and a response or an error.
struct Observation {
    private(set) var fractions: [Double] = []
    private(set) var response: Data??
    private(set) var error: (any Error)?
    /// What did not hold, for those who have to say it themselves.
    private(set) var defects: [String] = []

    /// The error's code, if it is one of ours.
    var code: UploadError.Code? { (error as? UploadError)?.code }

    /// The status that the upload failed with.
    var refusedStatus: Int? { (error as? UploadError)?.response?.statusCode }

    /// The response's body as text, if there was a response.
    var text: String? { response.map { String(decoding: $0 ?? Data(), as: UTF8.self) } }

    var isCancelled: Bool { error is CancellationError }

    /// Reads the stream to its end.
    init(
        _ events: AsyncThrowingStream<UploadEvent, any Error>,
        sourceLocation: SourceLocation = #_sourceLocation,
        onEvent: (UploadEvent) async throws -> Void = { _ in }
    ) async {
        do {
            for try await event in events {
                check(response == nil, "an event after the response", sourceLocation)
                switch event {
                case .progress(let fraction):
                    check((0...1).contains(fraction), "the fraction \(fraction)", sourceLocation)
                    check(fraction >= fractions.last ?? 0, "progress went back", sourceLocation)
                    fractions.append(fraction)
                case .response(let body):
                    response = .some(body)
                }
                try await onEvent(event)
            }
        } catch {
            self.error = error
        }
        check(!fractions.isEmpty, "no progress at all", sourceLocation)
        check((response == nil) == (error != nil), "neither or both of response and error", sourceLocation)
        if response != nil { check(fractions.last == 1, "a response before 1.0", sourceLocation) }
    }

    private mutating func check(_ condition: Bool, _ defect: String, _ sourceLocation: SourceLocation) {
        guard !condition else { return }
        defects.append(defect)
        Issue.record("\(defect)", sourceLocation: sourceLocation)
    }
}

/// Runs a block until it is true or the time is up; for what gives no event when it changes.
func eventually(
    within limit: Duration = .seconds(60),
    _ comment: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while try !condition() {
        guard ContinuousClock.now < deadline else {
            Issue.record(comment ?? "still not so after \(limit)", sourceLocation: sourceLocation)
            return
        }
        try await Task.sleep(for: .milliseconds(2))
    }
}
