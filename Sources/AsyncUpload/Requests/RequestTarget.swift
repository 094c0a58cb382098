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
            throw UploadError(.invalidRequest, detail: "\(withoutUserInformation.absoluteString) is not an HTTP URL")
        }
        return absoluteURL
    }
}

extension String: RequestTarget {
    /// The URL that the text is. Characters that a URL cannot have, such as `ü`, are encoded; control characters are refused.
    ///
    /// - Throws: ``UploadError`` with the code ``UploadError/Code-swift.struct/invalidRequest`` when it is none of HTTP.
    public func targetURL() throws -> URL {
        let isClean = !utf8.contains { $0 < 0x20 || $0 == 0x7f }
        guard isClean, let url = URL(string: self) else {
            throw UploadError(.invalidRequest, detail: "\(debugDescription) is not a URL")
        }
        return try url.targetURL()
    }
}
