/// What is known of the connection that carried an exchange; each is `nil` where that is not known.
struct ConnectionFacts: Sendable, Equatable {
    /// Whether it had been made for an earlier exchange.
    var isReused: Bool?

    /// The protocol by its ALPN name: `http/1.0`, `http/1.1`, `h2` or `h3`. libcurl knows it from the response.
    var networkProtocolName: String?

    /// The IP address of the other end, without a port; one of IPv6 has no brackets. With a proxy it is the proxy's.
    var remoteAddress: String?

    /// The port at the other end. With a proxy it is the proxy's.
    var remotePort: Int?
}
