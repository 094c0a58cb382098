#if os(Linux)
    import CLibcurl

    extension ConnectionFacts {
        /// What libcurl knows of the last connection of a transfer, until the handle is reset.
        ///
        /// Fails when nothing was connected: an address is known from the moment in which there is a TCP connection.
        init?(_ easy: OpaquePointer) {
            guard
                let address = clibcurl_get_string(easy, CurlOption.Information.primaryAddress).map(
                    String.init(cString:)
                ),
                !address.isEmpty
            else { return nil }
            let port = clibcurl_get_long(easy, CurlOption.Information.primaryPort)
            isReused = clibcurl_was_connection_reused(easy)
            networkProtocolName = Self.protocolName(clibcurl_get_long(easy, CurlOption.Information.httpVersion))
            remoteAddress = address
            remotePort = port > 0 ? port : nil
        }

        /// - Parameter version: libcurl's number for it; 0 when there was no response.
        private static func protocolName(_ version: Int) -> String? {
            switch version {
            case 1: "http/1.0"
            case 2: "http/1.1"
            case 3: "h2"
            case 30: "h3"
            default: nil
            }
        }
    }
#endif
