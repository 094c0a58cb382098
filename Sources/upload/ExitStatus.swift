import AsyncUpload

/// What the shell gets to know; the numbers are curl's.
enum ExitStatus: Int32, Sendable {
    case success = 0
    case usage = 2
    case hostNotFound = 6
    case cannotConnect = 7
    case refused = 22
    /// The response could not be written.
    case outputFailed = 23
    case sourceFailed = 26
    case timedOut = 28
    case secureConnectionFailed = 35
    case redirectNotFollowed = 47
    case sendingFailed = 55
    case receivingFailed = 56
    case serverUntrusted = 60
    case interrupted = 130

    /// That of the failure which led to the error, for scripts look at what went wrong, not at what could not be done about
    /// it.
    init(_ error: UploadError) {
        self = error.underlying is PartURLFailure ? .sourceFailed : ExitStatus(error.cause.code)
    }

    init(_ code: UploadError.Code) {
        self =
            switch code {
            case .invalidRequest, .optionNotSupported, .transportUnavailable: .usage
            case .hostNotFound: .hostNotFound
            case .cannotConnect: .cannotConnect
            case .unacceptableStatus: .refused
            case .fileNotFound, .permissionDenied, .notARegularFile, .fileChanged, .bodyUnreadable, .bodyNotEncodable,
                .bodyLengthMismatch, .temporaryFileFailed, .checkpointInUse, .checkpointFailed:
                .sourceFailed
            case .timedOut, .stalled: .timedOut
            case .secureConnectionFailed, .invalidTLSOptions: .secureConnectionFailed
            case .certificateUntrusted, .certificateHostMismatch: .serverUntrusted
            case .tooManyRedirects, .redirectRefused: .redirectNotFollowed
            case .connectionLostAfterBody, .responseUnreadable, .responseTooLarge, .responseNotDecodable:
                .receivingFailed
            // Lost before the end of the body, not sent in full, failed on the way, and kinds that come later.
            default: .sendingFailed
            }
    }
}
