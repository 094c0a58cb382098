import Foundation

/// Handlers for the usual cases.
extension LoopbackServer {
    /// Reads the body, then answers.
    public static func accept(
        status: Int = 200,
        keeping: Bool = false,
        digesting: Bool = false,
        bytesPerSecond: Int? = nil,
        body: String = ""
    ) -> Handler {
        { exchange in
            try exchange.readBody(keeping: keeping, digesting: digesting, bytesPerSecond: bytesPerSecond)
            try exchange.respond(status, body: body)
        }
    }

    /// Counts the body as fast as possible, then answers 200.
    public static let sink: Handler = { exchange in
        try exchange.readBody()
        try exchange.respond(200)
    }

    /// Redirects to `location`, after the body was read or at once.
    public static func redirect(status: Int, to location: String, readingBody: Bool = true) -> Handler {
        { exchange in
            if readingBody { try exchange.readBody() }
            try exchange.respond(status, headers: [("Location", location)])
        }
    }

    /// Answers 401 and asks for Basic authentication, until the request has that of `user`; then accepts. Without a
    /// user it never accepts.
    public static func unauthorized(
        realm: String = "r",
        user: String? = nil,
        password: String = "",
        readingBody: Bool = true
    ) -> Handler {
        let expected = user.map { "Basic " + Data("\($0):\(password)".utf8).base64EncodedString() }
        return { exchange in
            if let expected, exchange.request.header("Authorization") == expected {
                return try accept()(exchange)
            }
            if readingBody { try exchange.readBody() }
            try exchange.respond(401, headers: [("WWW-Authenticate", "Basic realm=\"\(realm)\"")])
        }
    }

    /// Sends the body back.
    public static let echo: Handler = { exchange in
        try exchange.readBody(keeping: true)
        let type = exchange.request.header("Content-Type").map { [("Content-Type", $0)] } ?? []
        try exchange.respond(200, headers: type, body: exchange.request.body ?? Data())
    }

    /// Reads the body, then keeps the peer waiting until it gives up.
    public static let neverAnswer: Handler = { exchange in
        try exchange.readBody()
        exchange.hold()
        exchange.close()
    }

    /// Reads `count` bytes of the body, then closes the connection or resets it.
    public static func failing(after count: Int, reset: Bool = false) -> Handler {
        { exchange in
            _ = try exchange.readBody(upTo: count)
            if reset { exchange.reset() } else { exchange.close() }
        }
    }
}
