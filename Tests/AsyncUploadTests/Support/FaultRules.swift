@testable import AsyncUpload

/// How an upload, or one request of it, ends.
enum Ending: Sendable, Hashable, CustomStringConvertible {
    case success, cancelled, foreignError
    case failure(UploadError.Code)
    /// A status that is not accepted.
    case status(Int)

    init(_ seen: Observation) {
        switch seen.error {
        case nil: self = .success
        case is CancellationError: self = .cancelled
        case let error as UploadError:
            let status = error.code == .unacceptableStatus ? error.response?.statusCode : nil
            self = status.map(Ending.status) ?? .failure(error.code)
        default: self = .foreignError
        }
    }

    init(_ transaction: UploadMetrics.Transaction) {
        let status = transaction.statusCode.map { $0 == 201 ? Ending.success : .status($0) }
        self = transaction.errorCode.map(Ending.failure) ?? status ?? .foreignError
    }

    var description: String {
        switch self {
        case .success: "success"
        case .cancelled: "cancelled"
        case .foreignError: "an error of another kind"
        case .failure(let code): code.description
        case .status(let status): "\(status)"
        }
    }
}

/// What must become of an upload that meets a fault.
struct Verdict: Sendable {
    /// Usually one; more where nothing on the wire decides between them.
    var endings: Set<Ending>
    var requests: ClosedRange<Int>
    /// What the first request ends with.
    var first: Set<Ending>
    /// How many requests the server has accepted.
    var acceptances: Int
}

/// The rules that ``RetryPolicy`` and the driver are documented with, put down a second time. Whoever changes them there
/// should have to change them here.
extension Fault {
    /// - Parameters:
    ///   - mayRepeat: whether the request may be sent twice: its method is idempotent, or it has a key.
    ///   - limit: how many attempts the policy allows after the first one.
    func verdict(on body: FaultyBody, over carrier: Carrier, mayRepeat: Bool = true, limit: Int = 2) -> Verdict {
        let first = requestEndings(over: carrier)
        let accepted = followsAcceptance ? 1 : 0
        let notReplayable: Set<Ending> = [.failure(.bodyNotReplayable)]
        let success = Verdict(endings: [.success], requests: 2...2, first: first, acceptances: accepted + 1)
        func failure(_ endings: Set<Ending>, after requests: ClosedRange<Int> = 1...1) -> Verdict {
            Verdict(endings: endings, requests: requests, first: first, acceptances: accepted)
        }
        let isSpent = body.isSpent(at: self, over: carrier)
        if kind == .status(307) { return isSpent == true ? failure(notReplayable) : success }
        guard mayPass, mayRepeat || excludesRequest(over: carrier) else { return failure(first) }
        switch (isSpent, isPermanent) {
        case (true, _): return failure(notReplayable)
        case (nil, _): return failure(first.union(notReplayable), after: 1...(limit + 1))
        case (false, true): return failure(first, after: (limit + 1)...(limit + 1))
        case (false, false): return success
        }
    }

    /// Whether it is a failure that the policy repeats a request after.
    private var mayPass: Bool {
        switch kind {
        case .reset, .close, .silence, .status(429), .status(503): true
        case .garbage, .status: false
        }
    }

    /// Whether nothing of the request can have reached the server, and that is known.
    func excludesRequest(over carrier: Carrier) -> Bool {
        switch (place, kind) {
        case (.connect, .reset), (.tls, .close), (.tls, .garbage): true
        // URLSession does not tell when a connection was reset, nor whether there was one.
        case (.connect, .silence), (.tls, .reset), (.tls, .silence): carrier == .automatic
        default: false
        }
    }

    /// What a request ends with that meets it.
    private func requestEndings(over carrier: Carrier) -> Set<Ending> {
        if case .status(let status) = kind { return [.status(status)] }
        let codes: Set<UploadError.Code> =
            switch (place, kind) {
            case (.tls, .garbage): [.secureConnectionFailed]
            case (_, .garbage): [.responseUnreadable]
            case (.connect, .reset): [.cannotConnect]
            // There is a connection, and the system takes in what it can of the body before it hears of the end.
            case (.connect, .close): Self.losses
            case (.tls, .reset): [carrier == .automatic ? .cannotConnect : .connectionLostBeforeBody]
            case (.tls, .close): [.cannotConnect]
            case (.connect, .silence), (.tls, .silence): [.timedOut]
            // With bytes that the peer's system does not take in, the body is not through; URLSession cannot know.
            case (.head ... .middle, .silence): carrier == .automatic ? [.stalled] : [.stalled, .timedOut]
            case (.responseBody, .silence): [.stalled]
            case (_, .silence): [.timedOut]
            // How much has been handed over when the end is noticed is between the two systems.
            case (.head ... .middle, _): Self.losses
            // The last byte may be in the hands of the system, and that of a stream is held back until its end is known.
            case (.lastByte, _): [.connectionLostDuringBody, .connectionLostAfterBody]
            case (_, .reset), (_, .close), (_, .status): [.connectionLostAfterBody]
            }
        return Set(codes.map(Ending.failure))
    }

    static let losses: Set<UploadError.Code> = [
        .connectionLostBeforeBody, .connectionLostDuringBody, .connectionLostAfterBody,
    ]
}

extension FaultyBody {
    /// Whether it has been read when a fault happens, and cannot be read again; `nil` where that is a race.
    fileprivate func isSpent(at fault: Fault, over carrier: Carrier) -> Bool? {
        // URLSession has put it into a file, from which it can be sent again.
        guard self == .oneShot, carrier == .automatic else { return false }
        // What follows the head is asked for before the head goes out.
        if fault.place >= .head { return true }
        // There is a connection: the end of it may be noticed before the body is wanted, or after.
        return fault.place == .connect && fault.kind == .close ? nil : false
    }
}

extension KnownIssue {
    /// What keeps a carrier from going through with a fault; such cases are left out, since the process would not survive them.
    static func forbidding(_ fault: Fault, over carrier: Carrier) -> KnownIssue? {
        guard carrier != .automatic else { return nil }
        return fault.place == .responseHead && [.reset, .close].contains(fault.kind) ? .headCutShort : nil
    }
}
