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

    /// Where the file goes: its name is appended to a URL that ends in `/`, unless the protocol has another place for it.
    func url(forFile path: String, _ resumable: Options.Resumable? = nil) throws(UsageError) -> URL {
        guard takesName(resumable) else { return url }
        let name = FilePath.name(path)
        let separator = resumable == .gcs ? "&name=" : ""
        guard !name.hasSuffix("/"), ![".", ".."].contains(name),
            let url = URL(string: url.absoluteString + separator + PercentEncoding.pathEncoded(name.utf8))
        else {
            throw UsageError("\(path) has no name to append to the URL")
        }
        return url
    }

    func urlForStandardInput(_ resumable: Options.Resumable? = nil) throws(UsageError) -> URL {
        guard resumable != .gcs else { return try urlWithoutName(resumable) }
        guard !takesName(resumable) else {
            throw UsageError("standard input has no name to append to \(url.absoluteString)")
        }
        return url
    }

    /// For what has no name, and needs none to be appended to a URL that ends in `/`.
    func urlWithoutName(_ resumable: Options.Resumable?) throws(UsageError) -> URL {
        guard resumable != .gcs || !takesName(resumable) else {
            throw UsageError("what is no file needs name=OBJECT in the URL with --resumable gcs")
        }
        return url
    }

    func checkForSeveral(_ resumable: Options.Resumable?) throws(UsageError) {
        switch resumable {
        case .tus: break
        case .gcs where !takesName(resumable):
            throw UsageError(
                "several files need a URL with uploadType=resumable and without name= with --resumable gcs"
            )
        case .gcs: break
        case .s3: throw UsageError("--resumable s3 takes one FILE: a presigned URL is that of one object")
        case .ietf, nil:
            guard isFolder else { throw UsageError("several files need a URL that ends in /") }
        }
    }

    /// Whether the file's name belongs to the URL.
    private func takesName(_ resumable: Options.Resumable?) -> Bool {
        switch resumable {
        case .tus, .s3: return false
        case .ietf, nil: return isFolder
        case .gcs:
            let items = URLComponents(url: url, resolvingAgainstBaseURL: true)?.queryItems ?? []
            return items.contains { $0.name == "uploadType" && $0.value == "resumable" }
                && !items.contains { $0.name == "name" }
        }
    }
}
