import Foundation

/// The URL of the command line.
struct Destination: Equatable {
    /// Without user, password and fragment.
    let url: URL
    /// Whether it ends in `/`, so that the name of the file is appended. A bare host does.
    let isFolder: Bool
    /// From the user and password in the URL, if it has them.
    let authorization: Options.Authorization?

    init(_ text: String) throws(UsageError) {
        guard Self.looksLikeURL(text) else {
            let advice =
                text.contains("://") || text.hasPrefix("/") || text.hasPrefix(".") ? "" : ": is http:// missing?"
            throw UsageError("\(SafeText.withoutPassword(text)) is not an http or https URL\(advice)")
        }
        guard let url = URL(string: text), var parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
            let host = parts.host, !host.isEmpty, (parts.port ?? 80) <= 65535
        else { throw UsageError("\(SafeText.withoutPassword(text)) is not a valid URL") }
        if let user = parts.user {
            authorization = .basic(user: user, password: parts.password ?? "")
        } else {
            authorization = nil
        }
        parts.user = nil
        parts.password = nil
        parts.fragment = nil
        if parts.percentEncodedPath.isEmpty { parts.percentEncodedPath = "/" }
        isFolder = parts.percentEncodedPath.hasSuffix("/") && parts.percentEncodedQuery == nil
        guard let url = parts.url else { throw UsageError("\(SafeText.withoutPassword(text)) is not a valid URL") }
        self.url = url
    }

    static func looksLikeURL(_ text: String) -> Bool {
        let start = text.prefix(8).lowercased()
        return start.hasPrefix("http://") || start.hasPrefix("https://")
    }

    /// Where the file goes: its name is appended to a URL that ends in `/`.
    func url(forFile path: String) throws(UsageError) -> URL {
        guard isFolder else { return url }
        let name = FilePath.name(path)
        guard !name.hasSuffix("/"), ![".", ".."].contains(name),
            let url = URL(string: url.absoluteString + PercentEncoding.pathEncoded(name.utf8))
        else {
            throw UsageError("\(path) has no name to append to the URL")
        }
        return url
    }

    func urlForStandardInput() throws(UsageError) -> URL {
        guard !isFolder else {
            throw UsageError("standard input has no name to append to \(url.absoluteString)")
        }
        return url
    }
}
