import AsyncUpload

/// How a wait before another attempt is called.
enum RetryWords {
    /// When it goes on. A second that has begun counts.
    static func plan(_ rest: Duration) -> String {
        guard rest > .zero else { return "retrying soon" }
        let seconds = rest.components.seconds + (rest.components.attoseconds > 0 ? 1 : 0)
        return "retrying in \(seconds < 100 ? "\(seconds) s" : Quantity.timeLeft(rest))"
    }

    /// The library's reason, short enough for a line of which other things are told, too.
    static func reason(_ text: String) -> String {
        shortened[text] ?? SafeText.ascii(SafeText.escaped(text))
    }

    /// Why an upload waits: the status, or what happened.
    static func reason(_ error: UploadError) -> String {
        if error.code == .unacceptableStatus, let response = error.response { return "\(response.statusCode)" }
        return reason(error.code)
    }

    /// What has happened, in the middle of a sentence.
    static func reason(_ code: UploadError.Code) -> String {
        reason(UploadError(code).shortDescription)
    }

    private static let shortened: [String: String] = {
        let words: [(UploadError.Code, String)] = [
            (.hostNotFound, "host not found"), (.cannotConnect, "no connection"),
            (.connectionLostBeforeBody, "connection lost"), (.connectionLostDuringBody, "connection lost"),
            (.connectionLostAfterBody, "connection lost"), (.timedOut, "timed out"), (.stalled, "stalled"),
            (.transferFailed, "transfer failed"),
        ]
        return Dictionary(words.map { (UploadError($0).shortDescription, $1) }, uniquingKeysWith: { first, _ in first })
    }()
}
