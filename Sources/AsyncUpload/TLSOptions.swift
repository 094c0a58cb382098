public import Foundation

extension Uploader {
    /// Whom TLS trusts and who the client is.
    ///
    /// Files are read when a connection is made, data is used as it is. What cannot be read or understood fails the upload
    /// with ``UploadError/Code-swift.struct/invalidTLSOptions``; a server that is not trusted, with
    /// ``UploadError/Code-swift.struct/certificateUntrusted`` or
    /// ``UploadError/Code-swift.struct/certificateHostMismatch``.
    public struct TLSOptions: Sendable, Hashable {
        /// Certificates or a key in PEM form (RFC 7468).
        public struct PEM: Sendable, Hashable {
            enum Contents: Hashable {
                case file(URL)
                case data(Data)
            }

            let contents: Contents

            /// - Parameter url: a `file:` URL.
            public static func file(_ url: URL) -> PEM { PEM(contents: .file(url)) }

            /// The text of a PEM file.
            public static func data(_ data: Data) -> PEM { PEM(contents: .data(data)) }
        }

        /// The authorities that are trusted, in place of the system's; `nil` for those.
        public var certificateAuthorities: PEM?

        /// The certificate that the client shows, and the ones between it and its authority.
        public var clientCertificate: PEM?

        /// The key that goes with ``clientCertificate``; `nil` when it is in the same place.
        public var privateKey: PEM?

        /// What the private key is encrypted with.
        public var privateKeyPassword: String? {
            get { password.value }
            set { password.value = newValue }
        }

        private var password = Secret<String>()

        /// If there are any, the server's public key must be one of these, whatever else is trusted: each the SHA-256 hash
        /// of a key's `SubjectPublicKeyInfo` in Base64 (RFC 7469 §2.4).
        public var pinnedPublicKeys: Set<String> = []

        /// Whether any server is trusted, which makes TLS useless against an attacker; for tests only.
        public var trustsAnyServer = false

        /// The system's authorities, no client certificate.
        public init() {}
    }
}

/// What is a secret stays out of logs.
extension Uploader.TLSOptions.PEM: CustomReflectable, CustomStringConvertible {
    /// Where it is; not what it says, which may be a key.
    public var description: String {
        switch contents {
        case .file(let url): url.absoluteString
        case .data(let data): "\(data.count) bytes"
        }
    }

    public var customMirror: Mirror { Mirror(self, children: []) }
}
