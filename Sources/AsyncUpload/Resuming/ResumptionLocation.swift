import Foundation

/// What a server calls an upload: the `Location` of a response, made absolute. It may be a secret, and is in no error.
enum ResumptionLocation {
    /// Resolves a `Location` (RFC 9110 §10.2.2) and refuses what an upload must not go to.
    ///
    /// - Parameter base: where the request went that was answered by it.
    static func url(in head: ResponseHead, sentTo base: URL?) throws -> URL {
        guard let text = head.headers["Location"], !text.isEmpty else {
            throw UploadError(.protocolViolation, detail: "\(head.statusCode) without Location")
        }
        let source = head.url ?? base
        guard let url = URL(string: text, relativeTo: source)?.absoluteURL, let origin = Origin(url) else {
            throw UploadError(.protocolViolation, detail: "a Location that is not an HTTP URL")
        }
        if let from = Origin(source), from.isSecure, !origin.isSecure {
            throw UploadError(.protocolViolation, detail: "a Location that is not secure")
        }
        // A user and a password from there are nothing that the caller has asked for.
        return url.withoutUserInformation
    }
}

extension ResumptionLocation {
    /// The URL in a checkpoint; `nil` for what is none, and for one that an upload like this would not have been given.
    static func url(in state: ResumptionState?, of request: URLRequest) -> URL? {
        guard let url = state?.location.flatMap(URL.init(string:)), let origin = Origin(url) else { return nil }
        return Origin(request.url)?.isSecure == true && !origin.isSecure ? nil : url
    }
}

extension UploadError {
    /// The error for a response that the protocol has no use for.
    static func refused(_ head: ResponseHead, _ body: Data) -> UploadError {
        let reason = HTTPURLResponse.localizedString(forStatusCode: head.statusCode)
        let response = UploadResponse(
            statusCode: head.statusCode,
            headers: head.headers,
            body: body.isEmpty ? nil : body,
            url: head.url,
            metrics: UploadMetrics()
        )
        return UploadError(.unacceptableStatus, detail: "\(head.statusCode) (\(reason))", response: response)
    }

    /// Whether the same request may well succeed later. Whether it may be repeated is another question.
    var isTransient: Bool {
        switch code {
        case .hostNotFound, .cannotConnect, .timedOut, .stalled, .transferFailed: true
        case .unacceptableStatus: response.map { Self.transientStatusCodes.contains($0.statusCode) } ?? false
        default: code.isConnectionLoss
        }
    }

    private static let transientStatusCodes: Set<Int> = [408, 425, 429, 500, 502, 503, 504]
}
