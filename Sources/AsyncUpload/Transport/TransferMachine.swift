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

    private enum Phase {
        case sending
        case receiving(HTTPURLResponse)
        case ended
    }

    private let bodyLength: Int64
    private let responseBodyLimit: Int
    private let expectsResponseBody: Bool
    private var phase = Phase.sending
    private var gate: ProgressGate
    private var received = 0
    private let idleLimit: Duration
    private var lastActivity: ContinuousClock.Instant
    private var bytesSent: Int64 = 0
    /// Our own reason to give up; it explains the end better than what the library makes of it.
    private var failure: (any Error)?

    /// - Parameters:
    ///   - bodyLength: how many bytes are to be sent.
    ///   - responseBodyLimit: how many bytes of response body may be taken in.
    ///   - method: the request's method; the response to HEAD has a length but no body.
    ///   - idleLimit: how long nothing may move.
    ///   - now: when the exchange begins.
    init(
        bodyLength: Int64,
        responseBodyLimit: Int,
        method: String?,
        idleLimit: Duration,
        at now: ContinuousClock.Instant
    ) {
        self.bodyLength = bodyLength
        self.responseBodyLimit = responseBodyLimit
        expectsResponseBody = method != "HEAD"
        self.idleLimit = idleLimit
        lastActivity = now
        gate = ProgressGate(total: bodyLength)
    }

    private var isEnded: Bool {
        if case .ended = phase { true } else { false }
    }

    mutating func didSend(_ bytes: Int64, at now: ContinuousClock.Instant) -> Effects {
        let bytes = min(bytes, bodyLength)
        if bytes != bytesSent { (bytesSent, lastActivity) = (bytes, now) }
        guard !isEnded, gate.passes(bytes, at: now) else { return .none }
        return Effects(events: [.sent(bytes)])
    }

    mutating func didReceive(_ head: HTTPURLResponse, at now: ContinuousClock.Instant) -> Effects {
        lastActivity = now
        guard !isEnded, failure == nil else { return .none }
        if (100..<200).contains(head.statusCode) { return Effects(events: [.interim(head)]) }
        phase = .receiving(head)
        var effects = Effects(events: [.head(head)])
        if expectsResponseBody, case .length(let length) = Self.declaredLength(of: head), length > responseBodyLimit {
            failure = tooLarge
            effects.stops = true
        }
        return effects
    }

    mutating func didReceive(_ data: Data, at now: ContinuousClock.Instant) -> Effects {
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
    mutating func didPass(_ now: ContinuousClock.Instant) -> Effects {
        guard now - lastActivity >= idleLimit else { return .none }
        return fail(UploadError(.timedOut, detail: "\(idleLimit)"))
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
    mutating func didComplete(_ error: (any Error)?, lastHead: HTTPURLResponse?) -> Effects {
        guard !isEnded else { return .none }
        defer { phase = .ended }
        if let error = failure ?? error { return Effects(ends: true, error: error) }
        var effects = Effects(ends: true)
        switch phase {
        case .receiving(let head): effects.error = Self.defect(of: head)
        case .sending, .ended:
            // Only a final status is an answer: an interim one may be all that came before the connection ended.
            if let lastHead, lastHead.statusCode >= 200 {
                effects.events = [.head(lastHead)]
                effects.error = Self.defect(of: lastHead)
            } else {
                effects.error = UploadError(.connectionLost, detail: "no final response")
            }
        }
        return effects
    }

    private var tooLarge: UploadError {
        UploadError(.responseTooLarge, detail: "more than \(responseBodyLimit) bytes")
    }

    /// What is wrong with a head that the library accepted.
    private static func defect(of head: HTTPURLResponse) -> UploadError? {
        guard case .malformed(let text) = declaredLength(of: head) else { return nil }
        return UploadError(.responseUnreadable, detail: "Content-Length: \(text)")
    }

    private enum DeclaredLength {
        case none
        case length(Int64)
        case malformed(String)
    }

    /// RFC 9112 §6.3: a list of equal lengths counts as one.
    private static func declaredLength(of head: HTTPURLResponse) -> DeclaredLength {
        guard let text = head.value(forHTTPHeaderField: "Content-Length") else { return .none }
        let lengths = Set(text.split(separator: ",").map { Int64(decimal: $0.trimmingCharacters(in: .whitespaces)) })
        guard lengths.count == 1, let length = lengths.first ?? nil else { return .malformed(text) }
        return .length(length)
    }
}
