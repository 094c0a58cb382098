import Foundation

/// What the servers of resumable uploads have in common: the store, the script, and the counts it is told.
final class UploadDesk: Sendable {
    private struct Counts {
        var all = 0
        var byMethod: [String: Int] = [:]
    }

    let store: UploadStore
    private let script: UploadScript
    private let counts = Locked(Counts())

    init(store: UploadStore, script: @escaping UploadScript) {
        self.store = store
        self.script = script
    }

    /// Serves a request as the script says, and with `body` where it says nothing.
    ///
    /// - Parameters:
    ///   - method: The method that counts.
    ///   - id: The upload that the request is about.
    ///   - common: Header fields of all answers that are not scripted.
    func serve(
        _ exchange: Exchange,
        method: String,
        upload id: String? = nil,
        common: [(String, String)] = [],
        _ body: (Turn) throws -> Reply
    ) throws {
        let turn = makeTurn(exchange, method: method, id: id)
        if let delay = turn.script.delay { try exchange.wait(delay) }
        if turn.script.forgets, let id { store.forget(id) }
        do {
            if let answer = turn.script.answer(afterBody: false) { return try turn.send(raw: answer) }
            var reply = try outcome(of: turn, body)
            reply.headers += common
            if turn.script.forgets, id == nil, let created = turn.id { store.forget(created) }
            try turn.send(reply)
        } catch let cut as Cut {
            turn.end(cut)
        }
    }

    private func outcome(of turn: Turn, _ body: (Turn) throws -> Reply) throws -> Reply {
        if turn.script.isLocked { return .refusal(423, "locked by the script") }
        do {
            return try body(turn)
        } catch let refusal as Reply {
            return refusal
        }
    }

    private func makeTurn(_ exchange: Exchange, method: String, id: String?) -> Turn {
        let request = exchange.request
        let (number, ofMethod) = counts.withLock { counts in
            counts.all += 1
            counts.byMethod[method, default: 0] += 1
            return (counts.all, counts.byMethod[method, default: 0])
        }
        let upload = id.flatMap(store.peek)
        let facts = ScriptedRequest(
            request: request,
            number: number,
            numberOfMethod: ofMethod,
            uploadID: upload?.id,
            offset: upload?.offset,
            method: method
        )
        return Turn(exchange: exchange, request: request, store: store, script: script(facts) ?? [], id: id)
    }
}

/// One request being served. Belongs to the connection's thread.
final class Turn {
    let exchange: Exchange
    let request: ReceivedRequest
    let store: UploadStore
    let script: Script
    /// The upload that the request is about; one that creates an upload puts it here.
    var id: String?

    init(exchange: Exchange, request: ReceivedRequest, store: UploadStore, script: Script, id: String?) {
        self.exchange = exchange
        self.request = request
        self.store = store
        self.script = script
        self.id = id
    }

    // MARK: The request

    /// The body's length if that is told before; 0 if nothing says that there is a body.
    var contentLength: Int64? {
        if case .length(let count) = exchange.head.framing { count } else { nil }
    }

    var isChunked: Bool { contentLength == nil }

    /// The value of a field that may be there once at most.
    func single(_ name: String) throws -> String? {
        let values = request.headers(name)
        guard values.count < 2 else { throw Reply.refusal(400, "\(name) more than once") }
        return values.first
    }

    /// The value of a field that is a decimal number.
    func number(_ name: String) throws -> Int64? {
        guard let text = try single(name) else { return nil }
        guard let value = decimal(text) else { throw Reply.refusal(400, "\(name) is no decimal number") }
        return value
    }

    /// Refuses a request that has no framing for its body, not even for an empty one.
    func requireFraming() throws {
        guard request.header("Content-Length") != nil || isChunked else {
            throw Reply.refusal(411, "neither Content-Length nor chunked")
        }
    }

    func require(token: String?) throws {
        guard let token, request.header("Authorization") != "Bearer \(token)" else { return }
        throw Reply.refusal(401, "no or a wrong token", [("WWW-Authenticate", "Bearer")])
    }

    /// The scheme and authority that the client has used.
    func origin(_ base: String) -> String {
        request.header("Host").map { "http://\($0)" } ?? base
    }

    // MARK: The answer

    /// What to tell the client about how many bytes are stored.
    func shownOffset(_ id: String) -> Int64 {
        script.claimedOffset ?? store.peek(id)?.offset ?? 0
    }

    func send(_ reply: Reply) throws {
        if let delay = script.replyDelay { try exchange.wait(delay) }
        if script.losesReply { return exchange.reset() }
        if let answer = script.answer(afterBody: true) { return try send(raw: answer) }
        var reply = reply
        reply.headers = script.changed(reply.headers)
        if let count = script.shortBody, !reply.isFramed { reply.body = reply.body.prefix(count) }
        try send(raw: reply)
    }

    func send(raw reply: Reply) throws {
        exchange.replyLimit = script.replyCut
        try exchange.respond(reply.status, reason: reply.reason, headers: reply.headers, body: reply.body)
    }

    /// Closes the connection. Unread input would make a plain close a reset.
    func end(_ cut: Cut) {
        switch cut.manner {
        case .close: exchange.close(draining: true)
        case .reset: exchange.reset()
        case .stall:
            // Otherwise what waits to be read would hide that the client has given up.
            try? exchange.readBody()
            exchange.hold()
            exchange.close()
        }
    }
}
