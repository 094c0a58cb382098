public import Foundation

/// What a request can be addressed to: a `URL`, or a text that is one.
public protocol RequestTarget {
    /// The absolute URL of HTTP that this stands for.
    ///
    /// - Throws: ``UploadError`` with the code ``UploadError/Code-swift.struct/invalidRequest`` when it is none.
    func targetURL() throws -> URL
}

extension URL: RequestTarget {
    /// The URL itself, made absolute.
    ///
    /// - Throws: ``UploadError`` with the code ``UploadError/Code-swift.struct/invalidRequest`` when it is not one of HTTP.
    public func targetURL() throws -> URL {
        guard Origin(self) != nil else {
            throw UploadError(.invalidRequest, detail: "\(textForErrors) is not an HTTP URL")
        }
        return absoluteURL
    }
}

extension String: RequestTarget {
    /// The URL that the text is.
    ///
    /// Characters that a URL cannot have, such as `ü`, are encoded. Refused are control characters, a backslash, which some
    /// take for a slash, and a `%` without two hexadecimal digits, since it could mean itself or not.
    ///
    /// - Throws: ``UploadError`` with the code ``UploadError/Code-swift.struct/invalidRequest`` when it is none of HTTP.
    public func targetURL() throws -> URL {
        let isClean = !utf8.contains { $0 < 0x20 || $0 == 0x7f || $0 == UInt8(ascii: "\\") }
        guard isClean, !hasStrayPercentSign, let url = URL(string: self) else {
            // Not the text itself: a password may be in it.
            throw UploadError(.invalidRequest, detail: "the text is not a URL")
        }
        return try url.targetURL()
    }

    private var hasStrayPercentSign: Bool {
        utf8.split(separator: UInt8(ascii: "%"), omittingEmptySubsequences: false).dropFirst().contains { rest in
            rest.prefix(2).count < 2 || !rest.prefix(2).allSatisfy { isxdigit(CInt($0)) != 0 }
        }
    }
}
