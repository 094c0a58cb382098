import Foundation

/// A request and what a handler does about it. Belongs to the connection's thread; not to be kept.
///
/// Every call that blocks ends with an error when the server is stopped.
public final class Exchange {
    let connection: Connection
    let head: RequestHead
    private let index: Int

    // What was received; the server's record is brought up to date from it now and then.
    var decoder: BodyDecoder
    var bodyByteCount: Int64 = 0
    var rawBodyByteCount: Int64 = 0
    var unpublishedByteCount = 0
    var kept: Data?
    var digest = BodyDigest()
    var digestedByteCount: Int64 = 0
    var wantsDigest = false

    // What was sent.
    var status: Int?
    var hasAnswered = false
    var hasContinued = false
    var closesAfterwards: Bool
    /// How much is sent of the final response before the connection is closed.
    var replyLimit: Int?
    private var hasEnded = false

    /// Whether `100 Continue` is withheld, which otherwise the first `readBody` sends if the request asked for it.
    public var ignoresExpect = false

    init(connection: Connection, head: RequestHead, index: Int) {
        self.connection = connection
        self.head = head
        self.index = index
        decoder = BodyDecoder(head.framing)
        closesAfterwards = head.isVersion10 || head.has("Connection", listing: "close")
        if decoder.isComplete { publish() }
    }

    /// The request as received so far.
    public var request: ReceivedRequest {
        publish(sharingBody: true)
        return connection.state.request(index)
    }

    /// How many bytes have been read together with the head, and not as its body so far.
    public var bufferedByteCount: Int { connection.available.count }

    // MARK: Waiting

    /// Blocks for `duration`.
    ///
    /// - Throws: ``LoopbackError/peerClosed`` as soon as the peer closes its side, or both.
    public func wait(_ duration: Duration) throws {
        publish()
        if try connection.block(for: .hangUp, until: .now.advanced(by: duration)) { throw LoopbackError.peerClosed }
    }

    /// Blocks until the peer closes, or the server is stopped; reads nothing.
    public func hold() {
        publish()
        _ = try? connection.block(for: .hangUp)
    }

    // MARK: Closing

    /// Closes the connection.
    ///
    /// Unread input makes the kernel send a RST on closing, which may cost the peer what was sent before.
    ///
    /// - Parameter draining: Sends FIN only, and discards what comes until the peer closes, for 5 s and 64 MiB at most.
    public func close(draining: Bool = false) {
        finish()
        if draining {
            connection.closeDraining()
        } else {
            connection.dispose()
        }
    }

    /// Closes the connection with a RST.
    public func reset() {
        finish()
        connection.reset()
    }

    // MARK: The end

    /// Does what the handler has left to do; true when another request may follow.
    func conclude() throws -> Bool {
        guard connection.isOpen else { return false }
        if !hasAnswered {
            try readBody()
            try respond(500)
        }
        if !decoder.isComplete, closesAfterwards {
            close(draining: true)
        } else if !decoder.isComplete {
            _ = try readBody(upTo: Int(Connection.drainLimit))
        }
        return connection.isOpen && decoder.isComplete && !closesAfterwards
    }

    /// Tells the peer that its body is none, if nothing was said so far.
    func reject(_ reason: String) {
        guard connection.isOpen, !hasAnswered else { return }
        try? respond(400, headers: [("Connection", "close")], body: "\(reason)\n")
        close(draining: true)
    }

    func finish() {
        guard !hasEnded else { return }
        hasEnded = true
        publish()
    }

    /// Brings the server's record up to date. False when the server is stopped.
    ///
    /// While the body grows the record does not share it: each piece would copy all that came before.
    @discardableResult
    func publish(sharingBody: Bool = false) -> Bool {
        unpublishedByteCount = 0
        let sharesBody = sharingBody || decoder.isComplete || hasAnswered || hasEnded
        return connection.state.update(index) { request in
            request.bodyByteCount = bodyByteCount
            request.rawBodyByteCount = rawBodyByteCount
            request.isComplete = decoder.isComplete
            if sharesBody { request.body = kept }
            if decoder.isComplete, digestedByteCount == bodyByteCount, wantsDigest { request.digest = digest.value }
            request.status = status
            request.ended = hasEnded
        }
    }
}
