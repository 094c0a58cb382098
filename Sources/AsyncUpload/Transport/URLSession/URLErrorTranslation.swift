import Foundation

/// Puts what `URLSession` reports into the terms of ``UploadError``.
enum URLErrorTranslation {
    /// - Parameter isSecure: whether the request went to an https URL.
    static func uploadError(from error: any Error, isSecure: Bool) -> UploadError {
        let reason = words(of: error)
        let code = (error as? URLError).map { kind(of: $0.code, reason: reason, isSecure: isSecure) }
        return UploadError(code ?? .transferFailed, detail: reason, underlying: error)
    }

    /// Whether the error came when TLS had been set up: there was a connection then, whatever the code.
    static func followsHandshake(_ error: any Error) -> Bool {
        followsHandshake(words(of: error).lowercased())
    }

    private static func followsHandshake(_ reason: String) -> Bool {
        ["ssl_read", "ssl_write", "gnutls recv", "gnutls send"].contains { reason.contains($0) }
    }

    /// The words of libcurl, where there are any, are more to the point than those of the error around them.
    private static func words(of error: any Error) -> String {
        let inner = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
        return (inner ?? error as NSError).localizedDescription
    }

    private static func kind(of code: URLError.Code, reason: String, isSecure: Bool) -> UploadError.Code {
        switch code {
        case .cannotFindHost, .dnsLookupFailed: .hostNotFound
        case .cannotConnectToHost, .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff: .cannotConnect
        case .timedOut: .timedOut
        // When it was lost is for ``TransferMachine`` to say.
        case .networkConnectionLost: .connectionLostDuringBody
        // A certificate for another host is one of these, too.
        case .serverCertificateHasBadDate, .serverCertificateUntrusted, .serverCertificateHasUnknownRoot,
            .serverCertificateNotYetValid:
            .certificateUntrusted
        case .secureConnectionFailed, .clientCertificateRejected, .clientCertificateRequired,
            .appTransportSecurityRequiresSecureConnection:
            .secureConnectionFailed
        case .cannotParseResponse, .cannotDecodeRawData, .cannotDecodeContentData: .responseUnreadable
        // Only HTTP URLs get this far: it is the answer that is not HTTP.
        case .unsupportedURL: .responseUnreadable
        // FoundationNetworking says this of a connection that was closed without an answer.
        case .badServerResponse: Platform.usesFoundationNetworking ? .connectionLostDuringBody : .responseUnreadable
        case .fileDoesNotExist: .fileNotFound
        case .noPermissionsToReadFile: .permissionDenied
        case .fileIsDirectory: .notARegularFile
        case .unknown: kindFromWords(reason.lowercased(), isSecure: isSecure)
        default: .transferFailed
        }
    }

    /// FoundationNetworking has one code for most failures of libcurl; only the words tell them apart.
    private static func kindFromWords(_ reason: String, isSecure: Bool) -> UploadError.Code {
        func mentions(_ words: String...) -> Bool { words.contains { reason.contains($0) } }
        if isSecure, followsHandshake(reason) {
            return mentions(" alert ") ? .secureConnectionFailed : .connectionLostDuringBody
        }
        // A reset alone has the same words before and after TLS is set up; it must not be taken for no connection.
        let isHandshake = reason.hasPrefix("openssl/") || mentions("ssl_connect", "tls connect", "gnutls_handshake")
        if isSecure, isHandshake, CurlErrorTranslation.isCutOff(reason) { return .cannotConnect }
        if mentions("transfer closed", "broken pipe", "connection reset", "send failure", "recv failure") {
            return .connectionLostDuringBody
        }
        if isSecure, mentions("subject name") { return .certificateHostMismatch }
        if isSecure, mentions("certificate problem", "peer certificate") { return .certificateUntrusted }
        if isSecure, mentions("ssl", "tls", "certificate") { return .secureConnectionFailed }
        if mentions("header", "content-length", "response", "chunk", "encoding") { return .responseUnreadable }
        // What libcurl says when a line of the head is longer than it is ready to take in.
        if mentions("out of memory") { return .responseUnreadable }
        return .transferFailed
    }
}
