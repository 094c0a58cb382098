extension Uploader {
    /// What carries the uploads.
    public struct TransportChoice: Sendable, Hashable, CustomStringConvertible {
        enum Kind: String {
            case automatic, urlSession, libcurl
        }

        let kind: Kind

        /// The best one there is: libcurl on Linux, `URLSession` elsewhere and where libcurl is missing.
        public static let automatic = TransportChoice(kind: .automatic)

        /// `URLSession`, everywhere. On Linux it is slow and a server can end the process; see <doc:Linux>.
        public static let urlSession = TransportChoice(kind: .urlSession)

        /// libcurl, on Linux only. Where it is missing, every upload fails with
        /// ``UploadError/Code-swift.struct/transportUnavailable``.
        public static let libcurl = TransportChoice(kind: .libcurl)

        /// The choice's name as it is written in Swift.
        public var description: String { kind.rawValue }

        func makeTransport(_ options: TransportOptions) -> any Transport {
            switch kind {
            case .urlSession: URLSessionTransport(options)
            case .libcurl: Platform.makeCurlTransport(options) ?? UnavailableTransport(name: "libcurl")
            case .automatic: Platform.makeCurlTransport(options) ?? URLSessionTransport(options)
            }
        }
    }
}
