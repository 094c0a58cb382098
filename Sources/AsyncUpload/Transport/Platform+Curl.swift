extension Platform {
    #if os(Linux)
        /// - Returns: `nil` when libcurl is not to be had.
        static func makeCurlTransport(connectionLimit: Int) -> (any Transport)? {
            CurlTransport(connectionLimit: connectionLimit)
        }
    #else
        static func makeCurlTransport(connectionLimit: Int) -> (any Transport)? {
            nil
        }
    #endif
}
