public import Foundation

extension Uploader {
    /// Which proxy requests go through.
    public struct ProxyChoice: Sendable, Hashable {
        enum Kind: Hashable {
            case system, direct
            case proxy(URL)
        }

        let kind: Kind

        /// What the system says: on Linux the variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` of the
        /// environment, as curl reads them.
        public static let system = ProxyChoice(kind: .system)

        /// None, whatever the system says.
        public static let direct = ProxyChoice(kind: .direct)

        /// This one for every request. TLS with the proxy itself trusts the system's authorities, whatever
        /// ``Uploader/TLSOptions`` says.
        ///
        /// - Parameter url: such as `http://user:password@proxy.example.org:3128`; the scheme is `http`, `https`, `socks5`
        ///   or, to have the proxy find the host, `socks5h`.
        public static func proxy(_ url: URL) -> ProxyChoice { ProxyChoice(kind: .proxy(url)) }
    }
}

/// What is a secret stays out of logs.
extension Uploader.ProxyChoice: CustomReflectable, CustomStringConvertible {
    /// The proxy, without its user and password.
    public var description: String {
        switch kind {
        case .system: "system"
        case .direct: "direct"
        case .proxy(let url): url.withoutUserInformation.absoluteString
        }
    }

    public var customMirror: Mirror { Mirror(self, children: []) }
}
