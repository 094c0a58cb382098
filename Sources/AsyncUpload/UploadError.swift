public import Foundation

/// Why an upload ended without a response.
///
/// Cancelling an upload is not an error of this type: it throws `CancellationError`.
public struct UploadError: Error, Sendable {
    /// The kind of failure. More kinds may come: a `switch` over codes needs a `default`.
    public var code: Code

    /// The response, if the server gave one: its status, its headers and as much of its body as was received.
    public var response: UploadResponse?

    /// What was sent, and what came of it.
    public var metrics: UploadMetrics

    /// How many requests were sent for this upload, those that were answered by a redirect or a challenge included.
    public var attempts: Int { metrics.attempts }

    /// Whether the server may have seen anything of the last request. Where it cannot have, even a request that is not
    /// idempotent can be sent again.
    ///
    /// It is `false` only where that is certain: there was no connection that the request could have been sent on.
    public internal(set) var mayHaveReachedServer = true

    /// The error of the system or the library underneath that led to this one.
    public var underlying: (any Error)?

    /// What exactly it was: a path, a URL, a reason; for people, not for code.
    public var detail: String?

    /// Makes an error.
    public init(
        _ code: Code,
        detail: String? = nil,
        response: UploadResponse? = nil,
        metrics: UploadMetrics = UploadMetrics(),
        underlying: (any Error)? = nil
    ) {
        self.code = code
        self.detail = detail
        self.response = response
        self.metrics = metrics
        self.underlying = underlying
    }

    /// The kind in one short phrase that never changes: fit for logs and for grouping.
    public var shortDescription: String { code.kind.texts.what }
}

extension UploadError: LocalizedError {
    /// What happened, in one sentence without a full stop.
    public var errorDescription: String? {
        guard let detail else { return shortDescription }
        return "\(shortDescription): \(detail)"
    }

    /// What can be done about it, in one sentence without a full stop.
    public var recoverySuggestion: String? { code.kind.texts.advice }
}

extension UploadError: CustomStringConvertible {
    public var description: String {
        var text = "UploadError.\(code): \(errorDescription ?? shortDescription)"
        if attempts > 1 { text += " (after \(attempts) requests)" }
        return text
    }
}
