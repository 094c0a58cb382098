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
    /// The body could not be read for another reason; a stream's own error is the underlying one.
    public static let bodyUnreadable = Self(.bodyUnreadable)
    /// A value could not be encoded.
    public static let bodyNotEncodable = Self(.bodyNotEncodable)

    /// A stream gave more or fewer bytes than its length says. The server never gets more, nor a request that is complete.
    public static let bodyLengthMismatch = Self(.bodyLengthMismatch)
    /// The body has to be sent again, and is a stream that can be read only once.
    public static let bodyNotReplayable = Self(.bodyNotReplayable)
    /// A stream could not be put into a temporary file, which the transport needs.
    public static let temporaryFileFailed = Self(.temporaryFileFailed)

    // MARK: The request

    /// The request cannot be sent as it is: its URL is not one of HTTP, or a header field is not valid.
    public static let invalidRequest = Self(.invalidRequest)
    /// The transport that the configuration asks for is not there.
    public static let transportUnavailable = Self(.transportUnavailable)
    /// The transport cannot do something that the configuration asks for. Nothing was sent.
    public static let optionNotSupported = Self(.optionNotSupported)
    /// A certificate, a key or a pin of the configuration cannot be used. Nothing was sent.
    public static let invalidTLSOptions = Self(.invalidTLSOptions)
    /// An interceptor could not prepare the request; its error is the underlying one. The request was not sent.
    public static let interceptorFailed = Self(.interceptorFailed)
    /// The uploader was shut down before the upload was started.
    public static let shutDown = Self(.shutDown)

    // MARK: Resuming

    /// The upload is no longer there at the server, and was begun anew too often.
    public static let uploadExpired = Self(.uploadExpired)
    /// The server does not keep to the protocol: it claims to have bytes that were not sent, or leaves out what it must say.
    /// Nothing was skipped.
    public static let protocolViolation = Self(.protocolViolation)
    /// The body is larger or smaller than the server or the protocol allows.
    public static let bodySizeNotAllowed = Self(.bodySizeNotAllowed)
    /// Somebody else goes on with the same upload already. Nothing was sent.
    public static let checkpointInUse = Self(.checkpointInUse)
    /// The checkpoint could not be read or written.
    public static let checkpointFailed = Self(.checkpointFailed)

    // MARK: The connection

    /// The host's name could not be resolved.
    public static let hostNotFound = Self(.hostNotFound)
    /// No connection could be made. One that ended while TLS was set up on it is none, either.
    public static let cannotConnect = Self(.cannotConnect)
    /// TLS could not be set up: what answers does not speak it, or the two sides have nothing in common.
    public static let secureConnectionFailed = Self(.secureConnectionFailed)
    /// The server's certificate is not trusted: it is out of date, its authority is unknown, or its key is not pinned.
    public static let certificateUntrusted = Self(.certificateUntrusted)
    /// The server's certificate is for another host.
    public static let certificateHostMismatch = Self(.certificateHostMismatch)
    /// The connection ended before anything of the body had been handed over.
    public static let connectionLostBeforeBody = Self(.connectionLostBeforeBody)
    /// The connection ended while the body was handed over.
    public static let connectionLostDuringBody = Self(.connectionLostDuringBody)
    /// The connection ended when the whole body had been handed over, and before the whole response was there. The server
    /// may have the body.
    public static let connectionLostAfterBody = Self(.connectionLostAfterBody)
    /// There was no connection, no response or no end within the time that the configuration allows for it.
    public static let timedOut = Self(.timedOut)
    /// Nothing moved for as long as the configuration allows.
    public static let stalled = Self(.stalled)
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
    /// Whether the connection was lost, before, while or after the body was sent.
    public var isConnectionLoss: Bool {
        switch kind {
        case .connectionLostBeforeBody, .connectionLostDuringBody, .connectionLostAfterBody: true
        default: false
        }
    }

    /// Whether there was no connection that a request could have been sent on, whatever the transport tells otherwise.
    var excludesConnection: Bool {
        switch kind {
        case .hostNotFound, .cannotConnect: true
        case .secureConnectionFailed, .certificateUntrusted, .certificateHostMismatch: true
        default: false
        }
    }

    enum Kind: String, CaseIterable {
        case fileNotFound, permissionDenied, notARegularFile, fileChanged, bodyUnreadable, bodyNotEncodable
        case bodyLengthMismatch, bodyNotReplayable, temporaryFileFailed
        case invalidRequest, transportUnavailable, optionNotSupported, invalidTLSOptions
        case interceptorFailed, shutDown
        case uploadExpired, protocolViolation, bodySizeNotAllowed, checkpointInUse, checkpointFailed
        case hostNotFound, cannotConnect, secureConnectionFailed, certificateUntrusted, certificateHostMismatch
        case connectionLostBeforeBody, connectionLostDuringBody, connectionLostAfterBody
        case timedOut, stalled, transferFailed
        case unacceptableStatus, responseUnreadable, responseTooLarge, bodyNotSent, responseNotDecodable
        case tooManyRedirects, redirectRefused

        /// What happened and what can be done about it.
        var texts: (what: String, advice: String) {
            switch self {
            case .fileNotFound: ("No such file", "Check the path")
            case .permissionDenied: ("Permission denied", "Check the file's permissions")
            case .notARegularFile: ("Not a regular file", "Give the path of a regular file")
            case .fileChanged: ("The file changed while it was sent", "Send it again once nothing writes to it")
            case .bodyUnreadable: ("The body could not be read", "Check where it comes from")
            case .bodyNotEncodable: ("The value could not be encoded", "Check the value and its encoder")
            case .bodyLengthMismatch: ("The body is not as long as was said", "Correct its length, or leave it out")
            case .bodyNotReplayable:
                ("The body cannot be sent a second time", "Send a file, or a stream that can be made anew")
            case .temporaryFileFailed:
                ("The body could not be put into a temporary file", "Make room in the temporary folder")
            case .invalidRequest: ("The request is not valid", "Correct the URL or the header field")
            case .transportUnavailable: ("The transport is not available", "Choose another one")
            case .optionNotSupported:
                ("The transport does not support an option", "Leave it out, or choose another transport")
            case .invalidTLSOptions: ("The TLS options cannot be used", "Check the certificates, the key and the pins")
            case .interceptorFailed: ("The request could not be prepared", "See the underlying error")
            case .shutDown: ("The uploader is shut down", "Make a new one")
            case .uploadExpired: ("The upload is gone at the server", "Start it again")
            case .protocolViolation: ("The server breaks the rules of the protocol", "Check what it stored")
            case .bodySizeNotAllowed: ("The body's size is not allowed", "Ask for the server's limits")
            case .checkpointInUse: ("The upload is under way already", "Wait for its end, or stop it")
            case .checkpointFailed: ("The checkpoint could not be kept", "Check the folder and its permissions")
            case .hostNotFound: ("Host not found", "Check the host's name and the network")
            case .cannotConnect: ("Could not connect", "Check that the server runs and can be reached")
            case .secureConnectionFailed: ("No secure connection", "Check that the server speaks TLS at this port")
            case .certificateUntrusted:
                ("The server's certificate is not trusted", "Check it, or trust the authority that issued it")
            case .certificateHostMismatch: ("The server's certificate is for another host", "Check the host's name")
            case .connectionLostBeforeBody: ("The connection was lost before the body was sent", "Try again")
            case .connectionLostDuringBody: ("The connection was lost while the body was sent", "Try again")
            case .connectionLostAfterBody:
                ("The connection was lost before the response came", "Try again; the server may have the body already")
            case .timedOut: ("It took too long", "Try again, or allow more time")
            case .stalled: ("Nothing moved for too long", "Try again, or allow more time")
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
