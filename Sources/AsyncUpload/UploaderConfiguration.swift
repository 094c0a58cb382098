public import Foundation

extension Uploader {
    /// How an uploader works. Changing a configuration does not change the uploaders made with it.
    public struct Configuration: Sendable {
        /// What carries the uploads.
        public var transport = TransportChoice.automatic

        /// How many uploads are under way at a time; the others wait, first come, first served. At least 1.
        ///
        /// It also limits the connections to one host. Uploads that wait hold no descriptor.
        public var maximumUploadsInFlight = 6

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
        public var credential: URLCredential?

        /// The header fields that do not go along when a redirect leads to another origin.
        public var credentialFields: Set<String> = [
            "Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "X-Auth-Token", "X-Amz-Security-Token",
        ]

        /// How many seconds may go by without a byte moving before an upload fails with
        /// ``UploadError/Code-swift.struct/timedOut``; fractions count. A request's own `timeoutInterval` goes before it
        /// unless that has its usual value of 60 seconds.
        public var timeoutIntervalForRequest: TimeInterval = 60

        /// The configuration that an uploader has unless told otherwise.
        public init() {}

        func idleLimit(for request: URLRequest) -> Duration {
            let own = request.timeoutInterval
            let seconds = own > 0 && own != 60 ? own : timeoutIntervalForRequest
            // Beyond what a duration can hold there is no difference to never.
            return .seconds(max(0, min(seconds, 1e15)))
        }

        var chainRules: RequestChain.Rules {
            RequestChain.Rules(redirects: redirects, credential: credential, credentialFields: credentialFields)
        }
    }
}
