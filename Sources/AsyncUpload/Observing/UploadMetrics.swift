public import Foundation

/// What an upload cost, and how it went.
public struct UploadMetrics: Sendable, Hashable {
    /// How many bytes of the body were sent by the last request that carried it.
    ///
    /// By all requests together if the upload is resumable: what had to be sent again counts again, and what an earlier upload has sent,
    /// which this one has gone on with, does not count.
    public var bytesSent: Int64

    /// From the upload's first turn to its end.
    public var duration: Duration

    /// When the upload had its first turn; `nil` if it had none.
    public var startDate: Date?

    /// Every request that was sent, in order: the first one, and those that redirects, challenges and failures have led to.
    public var transactions: [Transaction]

    /// How many requests were sent.
    public var attempts: Int { transactions.count }

    /// How many of them were answered by a redirect that was followed.
    public var redirectCount: Int { transactions.count { $0.isRedirected } }

    /// Makes metrics; of use in tests.
    public init(
        bytesSent: Int64 = 0,
        duration: Duration = .zero,
        startDate: Date? = nil,
        transactions: [Transaction] = []
    ) {
        self.bytesSent = bytesSent
        self.duration = duration
        self.startDate = startDate
        self.transactions = transactions
    }
}

extension UploadMetrics {
    /// One request and what came of it.
    public struct Transaction: Sendable, Hashable {
        /// Where it went. Its query may be a secret.
        public var url: URL?

        /// When it began, since the upload's first turn.
        public var start: Duration

        /// When it ended, since the upload's first turn.
        public var end: Duration

        /// How many bytes of its body it has handed over to the system.
        public var bytesSent: Int64

        /// The status of the answer; `nil` if there was none.
        public var statusCode: Int?

        /// What went wrong, where that was not the status.
        public var errorCode: UploadError.Code?

        /// Whether the answer was a redirect that was followed.
        public var isRedirected: Bool

        /// Whether it used a connection that had been used before; `nil` where that is not known.
        public var isReusedConnection: Bool?

        /// The protocol, as in TLS: `http/1.1`, `h2`; `nil` where that is not known.
        public var networkProtocolName: String?

        /// The IP address of the server, or of the proxy; `nil` where that is not known.
        public var remoteAddress: String?

        /// The port of the server, or of the proxy; `nil` where that is not known.
        public var remotePort: Int?

        /// Makes metrics of a request; of use in tests.
        public init(
            url: URL? = nil,
            start: Duration = .zero,
            end: Duration = .zero,
            bytesSent: Int64 = 0,
            statusCode: Int? = nil,
            errorCode: UploadError.Code? = nil,
            isRedirected: Bool = false,
            isReusedConnection: Bool? = nil,
            networkProtocolName: String? = nil,
            remoteAddress: String? = nil,
            remotePort: Int? = nil
        ) {
            self.url = url
            self.start = start
            self.end = end
            self.bytesSent = bytesSent
            self.statusCode = statusCode
            self.errorCode = errorCode
            self.isRedirected = isRedirected
            self.isReusedConnection = isReusedConnection
            self.networkProtocolName = networkProtocolName
            self.remoteAddress = remoteAddress
            self.remotePort = remotePort
        }
    }
}
