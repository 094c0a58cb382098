/// How long each part of an exchange may take.
struct TimeLimits: Sendable {
    /// Until there is a connection that a request can be sent on.
    var connection: Duration
    /// Without a byte moving.
    var stall: Duration
    /// From the end of the body to the beginning of the response.
    var response: Duration
    /// Everything together, with what went before.
    var total: Duration
    /// How much of that had gone by when the exchange began.
    var elapsed = Duration.zero

    var remaining: Duration { total - elapsed }

    /// How often to look at the clock, so that each limit is noticed soon after it has passed: a tenth of the shortest,
    /// within bounds that cost nothing.
    var checkInterval: Duration {
        min(max(min(connection, stall, response, remaining) / 10, .milliseconds(10)), .seconds(1))
    }
}
