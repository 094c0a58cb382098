public import Foundation

extension Uploader {
    /// How an uploader works. Changing a configuration does not change the uploaders made with it.
    public struct Configuration: Sendable {
        /// What carries the uploads.
        public var transport = TransportChoice.automatic

        /// How many uploads are under way at a time; the others wait. At least 1.
        ///
        /// Uploads that wait hold no descriptor. Can be changed later: see ``Uploader/maximumUploadsInFlight``.
        public var maximumUploadsInFlight = 6

        /// How many of them may be addressed to the same server: scheme, host and port. At least 1; `nil` for no limit of its own.
        ///
        /// Uploads to other servers go first when one is at its limit. Can be changed later: see
        /// ``Uploader/maximumUploadsInFlightPerHost``.
        public var maximumUploadsInFlightPerHost: Int?

        /// Whether and when an upload that has failed is attempted again: up to three more times unless set.
        public var retry = RetryPolicy.exponential()

        /// Where the `Idempotency-Key` of a request comes from.
        public var idempotencyKey = IdempotencyKey.ofRequest

        /// Where the checkpoints of resumable uploads are kept; `nil`, which it is unless set, for the memory of the uploader.
        ///
        /// With a ``DirectoryCheckpointStore`` an upload goes on in another process, after a crash too.
        public var checkpointStore: (any CheckpointStore)?

        /// What has a say in each request, one after the other.
        public var interceptors: [any UploadInterceptor] = []

        /// Called with what happens to uploads; `nil`, which it is unless set, for silence.
        ///
        /// It is called in order for each upload, for several at the same time, on threads of the system's; while it takes its
        /// time the upload does not go on.
        public var onActivity: (@Sendable (UploadActivity) -> Void)?

        /// How many bytes of a response's body are taken in; a larger one fails with
        /// ``UploadError/Code-swift.struct/responseTooLarge``. 16 MiB unless set.
        public var responseBodyLimit = 16 << 20

        /// The status codes that count as success: 200...299 unless set.
        public var acceptableStatusCodes = Set(200...299)

        /// Whether redirects are followed, and how many.
        public var redirects = RedirectPolicy.follow()

        /// The user and password that answer a challenge for "Basic" authentication (RFC 7617), once per upload.
        ///
        /// They are only given to the origin that the request is addressed to, never to one it was redirected to. Other
        /// schemes are not answered; the upload then fails with the status 401.
        public var credential: URLCredential? {
            get { hiddenCredential.value }
            set { hiddenCredential.value = newValue }
        }

        private var hiddenCredential = Secret<URLCredential>()

        /// The header fields that do not go along when a redirect leads to another origin.
        public var credentialFields: Set<String> = [
            "Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "X-Auth-Token", "X-Amz-Security-Token",
        ]

        /// How many seconds finding the host, connecting to it and setting up TLS may take; then the upload fails with
        /// ``UploadError/Code-swift.struct/timedOut``. Fractions count, here and in the limits below.
        public var timeoutIntervalForConnection: TimeInterval = 30

        /// How many seconds may go by without a byte moving, while the body is sent or the response received, before an
        /// upload fails with ``UploadError/Code-swift.struct/stalled``.
        ///
        /// With libcurl, what the server's system takes in counts as movement, too; `URLSession` only tells what it has
        /// handed over. Waiting for a stream to give its next bytes does not count. A request's own `timeoutInterval` goes
        /// before this limit and that for the response, unless it has its usual value of 60 seconds.
        public var timeoutIntervalForRequest: TimeInterval = 60

        /// How many seconds the server may take to answer once it has the whole body; then the upload fails with
        /// ``UploadError/Code-swift.struct/timedOut``.
        ///
        /// Servers that check or move a large body before they answer need more. Interim responses start the time anew.
        public var timeoutIntervalForResponse: TimeInterval = 300

        /// How many seconds an upload may take from the moment in which it has its turn, redirects, further attempts and the
        /// waits before them included; then it fails with ``UploadError/Code-swift.struct/timedOut``. An attempt that could
        /// only begin after that is not waited for: the upload fails with what went wrong before. Waiting for a turn does not
        /// count. There is no limit unless set.
        public var timeoutIntervalForResource: TimeInterval = .infinity

        /// How many bytes of body each upload may send per second; `nil` for no limit.
        ///
        /// They go out in portions of up to 16 KiB, or of a tenth of a second if that is more. A rate that leaves more time
        /// between two portions than ``timeoutIntervalForRequest`` makes an upload stall.
        ///
        /// With libcurl only; see ``UploadError/Code-swift.struct/optionNotSupported``.
        public var limitRate: Int64?

        /// Whom TLS trusts and who the client is. Anything but the usual needs libcurl; see
        /// ``UploadError/Code-swift.struct/optionNotSupported``.
        public var tls = TLSOptions()

        /// Which proxy requests go through. Anything but ``ProxyChoice/system`` needs libcurl; see
        /// ``UploadError/Code-swift.struct/optionNotSupported``.
        public var proxy = ProxyChoice.system

        /// The configuration that an uploader has unless told otherwise.
        public init() {}

        var chainRules: RequestChain.Rules {
            RequestChain.Rules(redirects: redirects, credential: credential, credentialFields: credentialFields)
        }

        /// - Parameter elapsed: how much of the total time has gone by.
        func timeLimits(for request: URLRequest, after elapsed: Duration) -> TimeLimits {
            let own = request.timeoutInterval > 0 && request.timeoutInterval != 60 ? request.timeoutInterval : nil
            return TimeLimits(
                connection: Self.duration(timeoutIntervalForConnection),
                stall: Self.duration(own ?? timeoutIntervalForRequest),
                response: Self.duration(own ?? timeoutIntervalForResponse),
                total: Self.duration(timeoutIntervalForResource),
                elapsed: elapsed
            )
        }

        /// Beyond some centuries there is no difference to never.
        private static func duration(_ seconds: TimeInterval) -> Duration {
            .nanoseconds(Int64(max(0, min(seconds, 9e9)) * 1e9))
        }

        var transportOptions: TransportOptions {
            TransportOptions(
                idleConnectionLimit: max(1, maximumUploadsInFlight),
                limitRate: limitRate,
                tls: tls,
                proxy: proxy
            )
        }
    }
}
