extension UploadError {
    /// A kind of failure.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        let kind: Kind

        /// The code's name as it is written in Swift, such as `fileNotFound`.
        public var description: String { kind.rawValue }
    }
}

extension UploadError.Code {
    private init(_ kind: Kind) { self.kind = kind }

    // MARK: The body

    /// There is no file at the path.
    public static let fileNotFound = Self(.fileNotFound)
    /// The file may not be read.
    public static let permissionDenied = Self(.permissionDenied)
    /// A directory, a device, a FIFO, or a file whose size says nothing about its contents.
    public static let notARegularFile = Self(.notARegularFile)
    /// The file's size or modification time changed while it was sent.
    public static let fileChanged = Self(.fileChanged)
    /// The body could not be read for another reason.
    public static let bodyUnreadable = Self(.bodyUnreadable)
    /// A value could not be encoded.
    public static let bodyNotEncodable = Self(.bodyNotEncodable)

    // MARK: The request

    /// The request cannot be sent as it is: its URL is not one of HTTP, or a header field is not valid.
    public static let invalidRequest = Self(.invalidRequest)
    /// The transport that the configuration asks for is not there.
    public static let transportUnavailable = Self(.transportUnavailable)
    /// The uploader was shut down before the upload was started.
    public static let shutDown = Self(.shutDown)

    // MARK: The connection

    /// The host's name could not be resolved.
    public static let hostNotFound = Self(.hostNotFound)
    /// No connection could be made.
    public static let cannotConnect = Self(.cannotConnect)
    /// TLS could not be set up, or the server's certificate is not trusted.
    public static let secureConnectionFailed = Self(.secureConnectionFailed)
    /// The connection ended before the whole response was there.
    public static let connectionLost = Self(.connectionLost)
    /// Nothing moved for as long as the configuration allows.
    public static let timedOut = Self(.timedOut)
    /// The transfer failed in a way that has no code of its own; see the underlying error.
    public static let transferFailed = Self(.transferFailed)

    // MARK: The response

    /// The final status is not one that the configuration accepts.
    public static let unacceptableStatus = Self(.unacceptableStatus)
    /// What the server sent is not an HTTP response. It may have stored the body all the same.
    public static let responseUnreadable = Self(.responseUnreadable)
    /// The response's body is larger than the configuration allows.
    public static let responseTooLarge = Self(.responseTooLarge)
    /// The server accepted the upload before it could have the whole body.
    public static let bodyNotSent = Self(.bodyNotSent)
    /// The response's body could not be decoded as the type asked for.
    public static let responseNotDecodable = Self(.responseNotDecodable)
    /// More redirects than the configuration allows.
    public static let tooManyRedirects = Self(.tooManyRedirects)
    /// A redirect that is not followed: to another scheme, from https to http, or to something that is no URL.
    public static let redirectRefused = Self(.redirectRefused)
}

extension UploadError.Code {
    enum Kind: String {
        case fileNotFound, permissionDenied, notARegularFile, fileChanged, bodyUnreadable, bodyNotEncodable
        case invalidRequest, transportUnavailable, shutDown
        case hostNotFound, cannotConnect, secureConnectionFailed, connectionLost, timedOut, transferFailed
        case unacceptableStatus, responseUnreadable, responseTooLarge, bodyNotSent, responseNotDecodable
        case tooManyRedirects, redirectRefused

        /// What happened and what can be done about it.
        var texts: (what: String, advice: String) {
            switch self {
            case .fileNotFound: ("No such file", "Check the path")
            case .permissionDenied: ("Permission denied", "Check the file's permissions")
            case .notARegularFile: ("Not a regular file", "Give the path of a regular file")
            case .fileChanged: ("The file changed while it was sent", "Send it again once nothing writes to it")
            case .bodyUnreadable: ("The body could not be read", "Check the disk that the file is on")
            case .bodyNotEncodable: ("The value could not be encoded", "Check the value and its encoder")
            case .invalidRequest: ("The request is not valid", "Correct the URL or the header field")
            case .transportUnavailable: ("The transport is not available", "Choose another one")
            case .shutDown: ("The uploader is shut down", "Make a new one")
            case .hostNotFound: ("Host not found", "Check the host's name and the network")
            case .cannotConnect: ("Could not connect", "Check that the server runs and can be reached")
            case .secureConnectionFailed: ("No secure connection", "Check the server's certificate")
            case .connectionLost: ("The connection was lost", "Try again; the server may have the body already")
            case .timedOut: ("Nothing moved for too long", "Try again, or allow more time")
            case .transferFailed: ("The transfer failed", "See the underlying error")
            case .unacceptableStatus: ("The server refused the upload", "See the response's body")
            case .responseUnreadable: ("The response is not valid HTTP", "Check what listens at the URL")
            case .responseTooLarge: ("The response is too large", "Raise the limit if the server is to be trusted")
            case .bodyNotSent: ("The server answered before it had the whole body", "Check what it stored")
            case .responseNotDecodable: ("The response could not be decoded", "Check the type against the response")
            case .tooManyRedirects: ("Too many redirects", "Check the URL, or allow more")
            case .redirectRefused: ("The redirect was not followed", "Send the upload to the new address yourself")
            }
        }
    }
}
