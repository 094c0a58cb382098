extension Platform {
    #if os(Linux)
        /// - Returns: `nil` when libcurl is not to be had.
        static func makeCurlTransport(_ options: TransportOptions) -> (any Transport)? {
            CurlTransport(options)
        }
    #else
        static func makeCurlTransport(_ options: TransportOptions) -> (any Transport)? {
            nil
        }
    #endif
}
