/// How long each part of an exchange may take.
struct TimeLimits: Sendable {
    /// Until there is a connection that a request can be sent on.
    var connection: Duration
    /// Without a byte moving.
    var stall: Duration
    /// From the end of the body to the beginning of the response.
    var response: Duration
    /// Everything together.
    var total: Duration

    /// How often to look at the clock, so that each limit is noticed soon after it has passed: a tenth of the shortest,
    /// within bounds that cost nothing.
    var checkInterval: Duration {
        min(max(min(connection, stall, response, total) / 10, .milliseconds(10)), .seconds(1))
    }
}
