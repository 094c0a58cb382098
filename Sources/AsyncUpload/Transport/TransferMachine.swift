import Foundation

/// What one exchange may do next. Pure: what the library underneath reports goes in, what is to be done comes out.
///
/// Whatever is reported after the end is ignored.
struct TransferMachine {
    /// What is to be done, in this order.
    struct Effects {
        var events: [TransferEvent] = []
        /// Give the exchange up; its completion will end it.
        var stops = false
        /// Nothing more will come; `error` says why if not all went well.
        var ends = false
        var error: (any Error)?

        static let none = Effects()
    }

    enum Body: Equatable {
        case none
        /// `nil` when the length is not known.
        case length(Int64?)

        var length: Int64? {
            switch self {
            case .none: 0
            case .length(let length): length
            }
        }
    }

    /// Time in which the machine sleeps is nobody's fault and does not count.
    typealias Instant = SuspendingClock.Instant

    private enum Phase {
        case sending
        case receiving(DeclaredLength)
        case ended
    }

    private let bodyLength: Int64?
    private let responseBodyLimit: Int
    private let expectsResponseBody: Bool
    private let limits: TimeLimits
    private let start: Instant
    private var phase = Phase.sending
    private var gate: ProgressGate
    private var bytesSent: Int64 = 0
    private var isBodySent: Bool
    private var hasToldBodyEnd: Bool
    private var received = 0
    private var lastActivity: Instant
    private var isConnected = false {
        didSet { wasConnected = wasConnected || isConnected }
    }
    /// Whether there ever was a connection, before the library began anew perhaps.
    private var wasConnected = false
    /// Whether ``didConnect(at:)`` will be called; otherwise a request without bytes tells of nothing but its response.
    var reportsConnections = false
    /// Whether the library waits for more of the body.
    private(set) var isWaitingForBody = false
    /// How much the system has taken and the peer's system has not.
    private var unacknowledged = 0
    /// Whether anything of a response has come.
    private(set) var hasReceived = false
    /// Our own reason to give up; it explains the end better than what the library makes of it.
    private var failure: (any Error)?

    /// - Parameters:
    ///   - body: whether there is a body, and how many bytes it has; `nil` when that is not known.
    ///   - responseBodyLimit: how many bytes of response body may be taken in.
    ///   - method: the request's method; the response to HEAD has a length but no body.
    ///   - limits: how long things may take.
    ///   - now: when the exchange begins.
    init(
        body: Body,
        responseBodyLimit: Int,
        method: String?,
        limits: TimeLimits,
        at now: Instant
    ) {
        bodyLength = body.length
        self.responseBodyLimit = responseBodyLimit
        expectsResponseBody = method != "HEAD"
        self.limits = limits
        start = now
        lastActivity = now
        isBodySent = bodyLength == 0
        hasToldBodyEnd = body == .none
        gate = ProgressGate(total: bodyLength)
    }

    /// For a request.
    ///
    /// - Parameter body: what the transport has made of the request's; `nil` where it is sent as it is.
    init(_ outgoing: OutgoingRequest, body: Body? = nil, at now: Instant) {
        self.init(
            body: body ?? outgoing.body.map { .length($0.length) } ?? .none,
            responseBodyLimit: outgoing.responseBodyLimit,
            method: outgoing.request.httpMethod,
            limits: outgoing.limits,
            at: now
        )
    }

    /// Whether the library's failure is all there is to say of the end.
    var hasNoReason: Bool { failure == nil }

    private var isEnded: Bool {
        if case .ended = phase { true } else { false }
    }

    /// There is a connection, and the request is about to be sent.
    mutating func didConnect(at now: Instant) {
        if !isConnected { (isConnected, lastActivity) = (true, now) }
    }

    /// The library has asked for the body, and there is nothing to give to it for now.
    mutating func didRunOutOfBody(at now: Instant) -> Effects {
        didConnect(at: now)
        isWaitingForBody = true
        return lacksLastByte ? .none : tellWhatWasHeldBack(at: now)
    }

    /// A stream's last byte is kept until its end is known, which is mostly at once: until it is not, that is no news.
    private var lacksLastByte: Bool {
        bytesSent > 0 && bodyLength.map { $0 - bytesSent == 1 } ?? false
    }

    /// Nobody knows when there will be more to send.
    private mutating func tellWhatWasHeldBack(at now: Instant) -> Effects {
        guard !isEnded, isWaitingForBody, gate.passes(bytesSent, at: now) else { return .none }
        return Effects(events: [.sent(bytesSent)])
    }

    /// The library begins anew by itself, from the first byte and on a new connection.
    mutating func didBeginAnew(at now: Instant) -> Effects {
        (isConnected, isWaitingForBody) = (false, false)
        return didSend(0, at: now)
    }

    /// - Parameter bytes: how much of the body has been handed over; fewer than before when it is sent anew.
    mutating func didSend(_ bytes: Int64, at now: Instant) -> Effects {
        let bytes = bodyLength.map { min(bytes, $0) } ?? bytes
        if bytes != bytesSent || isWaitingForBody { lastActivity = now }
        isWaitingForBody = false
        if bytes > 0 { isConnected = true }
        bytesSent = bytes
        isBodySent = bytes == bodyLength
        guard !isEnded, !lacksLastByte, gate.passes(bytes, at: now) else { return .none }
        hasToldBodyEnd = isBodySent
        return Effects(events: isBodySent ? [.sent(bytes), .bodyEnd] : [.sent(bytes)])
    }

    /// A body of unknown length has been handed over to its end.
    mutating func didSendAll(at now: Instant) -> Effects {
        lastActivity = now
        isWaitingForBody = false
        guard !isEnded, !isBodySent else { return .none }
        (isBodySent, hasToldBodyEnd) = (true, true)
        return Effects(events: [.sent(bytesSent), .bodyEnd])
    }

    /// Of a body without bytes nothing else tells.
    private mutating func bodyEndToTell() -> [TransferEvent] {
        guard isBodySent, !hasToldBodyEnd else { return [] }
        hasToldBodyEnd = true
        return [.bodyEnd]
    }

    /// - Parameter count: how many bytes the system has taken and the peer's system has not; when that changes, something
    ///   moves.
    mutating func didSee(unacknowledged count: Int, at now: Instant) {
        if count != unacknowledged { (unacknowledged, lastActivity) = (count, now) }
    }

    mutating func didReceive(_ head: ResponseHead, at now: Instant) -> Effects {
        didConnect(at: now)
        hasReceived = true
        lastActivity = now
        guard !isEnded, failure == nil else { return .none }
        if (100..<200).contains(head.statusCode) { return Effects(events: [.interim(head)]) }
        let declared = Self.declaredLength(of: head)
        phase = .receiving(declared)
        // The library may never ask for the rest; if it does, it says so.
        isWaitingForBody = false
        var effects = Effects(events: bodyEndToTell() + [.head(head)])
        if expectsResponseBody, case .length(let length) = declared, length > responseBodyLimit {
            failure = tooLarge
            effects.stops = true
        }
        return effects
    }

    mutating func didReceive(_ data: Data, at now: Instant) -> Effects {
        lastActivity = now
        guard !isEnded, failure == nil else { return .none }
        received += data.count
        guard received <= responseBodyLimit else {
            failure = tooLarge
            return Effects(stops: true)
        }
        return Effects(events: [.data(data)])
    }

    /// Time has gone by.
    mutating func didPass(_ now: Instant) -> Effects {
        if now - start >= limits.remaining { return fail(UploadError.timedOut("end", within: limits.total)) }
        guard let (limit, error) = currentLimit, now - lastActivity >= limit else {
            return tellWhatWasHeldBack(at: now)
        }
        return fail(error)
    }

    /// What is being waited for, and for how long at most.
    private var currentLimit: (Duration, UploadError)? {
        let stalled = (limits.stall, UploadError(.stalled, detail: "for \(limits.stall)"))
        if isWaitingForBody { return nil }
        if case .receiving = phase { return stalled }
        guard isConnected else {
            let isSilent = bodyLength == 0 && !reportsConnections
            let limit = isSilent ? max(limits.connection, limits.response) : limits.connection
            return (limit, .timedOut(isSilent ? "response" : "connection", within: limit))
        }
        guard isBodySent, unacknowledged == 0 else { return stalled }
        return (limits.response, .timedOut("response", within: limits.response))
    }

    /// Gives the exchange up for a reason of our own; the first one counts.
    mutating func fail(_ error: any Error) -> Effects {
        guard !isEnded, failure == nil else { return .none }
        failure = error
        return Effects(stops: true)
    }

    /// The library is done with the exchange.
    ///
    /// - Parameters:
    ///   - error: what it says went wrong, in our terms.
    ///   - lastHead: the last head it saw; not every one is reported when it arrives.
    mutating func didComplete(_ error: (any Error)?, lastHead: ResponseHead?) -> Effects {
        guard !isEnded else { return .none }
        defer { phase = .ended }
        // How many bytes the server can have must not be guessed by who goes on from there.
        let count: [TransferEvent] = hasToldBodyEnd || gate.hasPassed(bytesSent) ? [] : [.sent(bytesSent)]
        if let error = failure ?? error { return Effects(events: count, ends: true, error: completed(error)) }
        var effects = Effects(events: count, ends: true)
        switch phase {
        case .receiving(let declared): effects.error = Self.defect(declared)
        case .sending, .ended:
            // Only a final status is an answer: an interim one may be all that came before the connection ended.
            if let lastHead, lastHead.statusCode >= 200 {
                effects.events += bodyEndToTell() + [.head(lastHead)]
                effects.error = Self.defect(Self.declaredLength(of: lastHead))
            } else {
                effects.error = completed(UploadError(.connectionLostAfterBody, detail: "no final response"))
            }
        }
        return effects
    }

    /// Says what the library underneath does not know: when a connection was lost, and whether there was one at all.
    private func completed(_ error: any Error) -> any Error {
        guard var error = error as? UploadError else { return error }
        if error.code.isConnectionLoss {
            error.code =
                if isBodySent { .connectionLostAfterBody } else if bytesSent > 0 { .connectionLostDuringBody } else {
                    .connectionLostBeforeBody
                }
        }
        if !wasConnected, reportsConnections || error.code.excludesConnection { error.mayHaveReachedServer = false }
        return error
    }

    private var tooLarge: UploadError {
        UploadError(.responseTooLarge, detail: "more than \(responseBodyLimit) bytes")
    }

    /// What is wrong with a head that the library accepted.
    private static func defect(_ declared: DeclaredLength) -> UploadError? {
        guard case .malformed(let text) = declared else { return nil }
        return UploadError(.responseUnreadable, detail: "Content-Length: \(text)")
    }

    private enum DeclaredLength {
        case none
        case length(Int64)
        case malformed(String)
    }

    /// RFC 9112 §6.3: a list of equal lengths counts as one.
    private static func declaredLength(of head: ResponseHead) -> DeclaredLength {
        guard let text = head.headers["Content-Length"] else { return .none }
        if let length = Int64(decimal: text) { return .length(length) }
        let lengths = Set(text.split(separator: ",").map { Int64(decimal: $0.trimmingCharacters(in: .whitespaces)) })
        guard lengths.count == 1, let length = lengths.first ?? nil else { return .malformed(text) }
        return .length(length)
    }
}

extension UploadError {
    /// - Parameter what: what did not come in time.
    fileprivate static func timedOut(_ what: String, within limit: Duration) -> UploadError {
        UploadError(.timedOut, detail: "no \(what) within \(limit)")
    }
}
