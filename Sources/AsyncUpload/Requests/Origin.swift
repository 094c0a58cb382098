import Foundation

/// Scheme, host and port (RFC 6454 §4): what decides whether a secret may go along.
struct Origin: Hashable, CustomStringConvertible {
    let scheme: String
    let host: String
    let port: Int

    /// - Returns: `nil` unless `url` is an absolute HTTP URL with a host.
    init?(_ url: URL?) {
        guard let url, let scheme = url.scheme?.lowercased(), let host = url.host?.lowercased(), !host.isEmpty else {
            return nil
        }
        switch scheme {
        case "http": port = url.port ?? 80
        case "https": port = url.port ?? 443
        default: return nil
        }
        guard (1...65535).contains(port) else { return nil }
        self.scheme = scheme
        self.host = host
    }

    var description: String { "\(scheme)://\(host):\(port)" }

    var isSecure: Bool { scheme == "https" }
}
