import Foundation

/// Puts libcurl's result codes into the terms of ``UploadError``.
enum CurlErrorTranslation {
    /// libcurl's own code, as the underlying error.
    static let domain = "libcurl"

    /// - Parameters:
    ///   - code: a `CURLcode` other than 0.
    ///   - reason: libcurl's words for it.
    static func uploadError(code: CInt, reason: String) -> UploadError {
        // The rest is the proxy's URL, with its password.
        let isProxyUnsupported = reason.hasPrefix("Unsupported proxy")
        let reason = isProxyUnsupported ? "Unsupported proxy" : reason
        let underlying = NSError(
            domain: domain,
            code: Int(code),
            userInfo: [NSLocalizedDescriptionKey: reason]
        )
        let kind = isProxyUnsupported ? .optionNotSupported : self.kind(of: code, reason: reason)
        // Without a kind of its own the number is what there is to look up.
        let detail = kind == .transferFailed ? "\(reason) (libcurl code \(code))" : reason
        return UploadError(kind, detail: detail, underlying: underlying)
    }

    /// Whether the connection ended while TLS was set up on it, by what OpenSSL, GnuTLS or libcurl itself says of that.
    ///
    /// - Parameter reason: in lower case.
    static func isCutOff(_ reason: String) -> Bool {
        [
            "connection reset", "broken pipe", "ssl_error_syscall", "unexpected eof", "non-properly terminated",
            "error in the pull function", "error in the push function",
        ].contains { reason.contains($0) }
    }

    private static func kind(of code: CInt, reason: String) -> UploadError.Code {
        let reason = reason.lowercased()
        func mentions(_ words: String...) -> Bool { words.contains { reason.contains($0) } }
        return switch code {
        case 3: .invalidRequest
        case 5, 6: .hostNotFound
        case 7, 97: .cannotConnect
        case 56 where mentions("connect tunnel", "from proxy after connect"): .cannotConnect
        case 28: .timedOut
        // The two kinds share a code.
        case 51, 60: mentions("subject name", "does not match") ? .certificateHostMismatch : .certificateUntrusted
        case 83, 90, 91: .certificateUntrusted
        case 53, 54, 58, 66, 77, 82: .invalidTLSOptions
        case 35 where isCutOff(reason): .cannotConnect
        case 35, 59, 64, 80, 98: .secureConnectionFailed
        // What the peer says of the handshake may come after it, when a certificate of the client was wanted.
        case 55 where mentions(" alert "), 56 where mentions(" alert "): .secureConnectionFailed
        // Only HTTP URLs get this far: with "unsupported protocol" it is the answer that is not HTTP. A line of the head
        // that is too long is "out of memory", one that is no field a "bad argument".
        case 1, 8, 27, 43, 61, 100: .responseUnreadable
        case 56 where mentions("chunk"): .responseUnreadable
        // When it was lost is for ``TransferMachine`` to say.
        case 16, 18, 52, 55, 56, 92: .connectionLostDuringBody
        default: .transferFailed
        }
    }
}
