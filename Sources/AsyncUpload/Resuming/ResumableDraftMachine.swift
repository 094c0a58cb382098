import Foundation

/// One upload by "Resumable Uploads for HTTP" (draft-ietf-httpbis-resumable-upload): begun by a request that could also be a
/// plain upload, and sent on from where the server says.
struct ResumableDraftMachine: ResumptionMachine {
    private enum Stage {
        case creating, querying, appending
        /// The server says that it has all of a body whose end was not seen yet: the body is read to see whether that is so.
        case verifying(ResponseHead, Data)
        case finished(ResponseHead, Data)
    }

    private let request: URLRequest
    private let version: Int
    private let isCareful: Bool
    private let fields: ResumableDraftFields
    private var limits = ResumableDraftLimits()
    private var cursor: PartCursor
    private var progress: SequentialProgress
    private var stage: Stage
    private var location: URL?
    /// What is wrong with an interim response.
    private var violation: UploadError?
    private var creationCount = 0
    private var part: Range<Int64>?
    private var isLastPart = false
    private var isInFlight = false
    private var isHeld = false
    /// What the server says of the upload cannot be true. Nobody is to go on with it: another process would not know what this one
    /// knows.
    private var isBroken = false
    /// Why the upload cannot go on after it was interrupted.
    private var impossibility: UploadError?
    private let wantedPartSize: Int64?
    /// How often a part was too large for the server.
    private var shrinkCount = 0

    private static let shrinkLimit = 10
    private static let creationLimit = 3

    /// - Parameter request: what would be sent without the protocol, with the body's type.
    init(request: URLRequest, length: Int64?, options: ResumableDraftOptions, state: ResumptionState?) {
        self.request = request
        version = options.interopVersion
        isCareful = (options.creation ?? (length == nil ? .careful : .optimistic)) == .careful
        fields = ResumableDraftFields(version: options.interopVersion)
        cursor = PartCursor(length: length, partSize: options.partSize)
        wantedPartSize = cursor.partSize
        location = ResumptionLocation.url(in: state, of: request)
        progress = SequentialProgress(limit: location == nil ? 0 : length ?? .max)
        stage = location == nil ? .creating : .querying
    }

    var confirmedByteCount: Int64 { progress.offset }

    var state: ResumptionState? {
        if case .finished = stage { return nil }
        return isBroken ? nil : location.map { ResumptionState(location: $0.absoluteString) }
    }

    var removal: ResumptionRequest? {
        location.map { ResumptionRequest(fields.versioned(request.continued("DELETE", $0))) }
    }

    // MARK: Steps

    mutating func next() -> ResumptionStep {
        if case .finished(let head, let body) = stage { return .finish(head, body) }
        guard !isInFlight, !isHeld else { return .wait }
        if let impossibility { return .fail(impossibility) }
        isInFlight = true
        switch stage {
        case .verifying: return .read(identifier: 0, from: progress.offset, count: 1)
        case .querying: return .send(ResumptionRequest(fields.versioned(request.continued("HEAD", location))))
        case .creating where isCareful: return carefulCreation()
        case .creating, .appending, .finished: return sending()
        }
    }

    private mutating func carefulCreation() -> ResumptionStep {
        var request = fields.versioned(request)
        fields.setComplete(false, in: &request)
        fields.setLength(cursor.length, in: &request)
        (part, isLastPart) = (nil, false)
        return .send(ResumptionRequest(request, .data(Data())))
    }

    private mutating func sending() -> ResumptionStep {
        switch cursor.next(at: progress.offset) {
        case .read(let start, let count): return .read(identifier: 0, from: start, count: count)
        case .part(let part, let isLast):
            var request: URLRequest
            if case .creating = stage {
                request = fields.versioned(self.request)
                fields.setLength(cursor.length, in: &request)
            } else {
                request = fields.versioned(self.request.continued("PATCH", location))
                fields.setAppending(at: part.lowerBound, in: &request)
            }
            fields.setComplete(isLast, in: &request)
            (self.part, isLastPart) = (part, isLast)
            return .send(ResumptionRequest(request, .part(part)))
        }
    }

    // MARK: Interim responses

    mutating func receiveInterim(_ head: ResponseHead, for identifier: Int) {
        guard head.statusCode == 104, fields.isSameVersion(head), isInFlight else { return }
        limits.take(head)
        if case .creating = stage, head.headers["Location"] != nil { take(locationIn: head) }
        guard let part, let offset = StructuredField.integer(head.headers["Upload-Offset"]) else { return }
        // A promise: but what it is worth shows when the server is asked.
        if offset > part.upperBound {
            violation = UploadError(
                .protocolViolation,
                detail: "it claims \(offset) bytes, \(part.upperBound) were sent"
            )
        }
    }

    private mutating func take(locationIn head: ResponseHead) {
        do {
            let url = try ResumptionLocation.url(in: head, sentTo: request.url)
            if let location, location != url {
                throw UploadError(.protocolViolation, detail: "two different locations for one upload")
            }
            location = url
        } catch {
            violation = error as? UploadError
        }
    }

    // MARK: Outcomes

    mutating func receive(
        _ outcome: ResumptionOutcome,
        bytesSent: Int64,
        for identifier: Int
    ) -> ResumptionVerdict {
        isInFlight = false
        let part = part
        self.part = nil
        if let part { progress.sent(bytesSent, from: part.lowerBound) }
        switch outcome {
        case .answer: return .proceed
        case .ready(let end, _) where end < progress.offset:
            return broken(.shorter(end, than: progress.offset))
        case .ready(let end, let isEnd):
            if case .verifying(let head, let body) = stage {
                guard isEnd, end == progress.offset else { return broken(Self.completedAt(progress.offset)) }
                stage = .finished(head, body)
                return .proceed
            }
            cursor.didRead(from: progress.offset, to: end, isEnd: isEnd)
            return .proceed
        case .failure(let error):
            if let violation { return broken(violation) }
            return interrupted(by: error)
        case .response(let head, let body):
            do {
                if let part, (200..<300).contains(head.statusCode), bytesSent < part.upperBound - part.lowerBound,
                    fields.complete(in: head) != false
                {
                    throw UploadError(.bodyNotSent, detail: "\(bytesSent) bytes were sent")
                }
                return try received(head, body, part)
            } catch {
                return broken(error as? UploadError ?? UploadError(.protocolViolation, underlying: error))
            }
        }
    }

    mutating func resume(_ identifier: Int) {
        isHeld = false
    }

    mutating func interrupt(bytesSent: [Int: Int64]) {
        if let part { progress.sent(bytesSent[0] ?? 0, from: part.lowerBound) }
        if case .creating = stage, part != nil, location == nil, !mayRepeatCreation {
            let detail = "it was interrupted before the server had told where to go on, and must not be sent twice"
            impossibility = UploadError(.connectionLostDuringBody, detail: detail)
        }
        (part, isInFlight, isHeld) = (nil, false, false)
        askNext()
    }

    private mutating func hold(_ verdict: ResumptionVerdict) -> ResumptionVerdict {
        isHeld = true
        return verdict
    }

    private mutating func broken(_ error: UploadError) -> ResumptionVerdict {
        isBroken = true
        return hold(.fail(error))
    }

    /// Whether the request that begins the upload may be sent again when nothing is known of the first one.
    private var mayRepeatCreation: Bool { request.isIdempotent || isCareful }

    private mutating func askNext() {
        if case .finished = stage { return }
        if location != nil { stage = .querying }
    }

    /// There is no answer, or one that says nothing of the upload.
    private mutating func interrupted(by error: UploadError) -> ResumptionVerdict {
        let isBegun = location != nil
        askNext()
        // Without a place to go on at, the request would be repeated as a whole.
        let mayRepeat = isBegun || mayRepeatCreation || !error.mayHaveReachedServer
        return hold(error.isTransient && mayRepeat ? .retry(error) : .fail(error))
    }

    private mutating func received(
        _ head: ResponseHead,
        _ body: Data,
        _ part: Range<Int64>?
    ) throws -> ResumptionVerdict {
        let isComplete = fields.complete(in: head)
        if let violation, isComplete != true { throw violation }
        limits.take(head)
        cursor.partSize = try limits.partSize(wanted: wantedPartSize, isInMemory: cursor.length == nil)
        switch stage {
        case .querying: return try queried(head, body, isComplete)
        case .creating, .appending: return try answered(head, body, part, isComplete)
        case .verifying, .finished: return .proceed
        }
    }

    private mutating func queried(_ head: ResponseHead, _ body: Data, _ isComplete: Bool?) throws -> ResumptionVerdict {
        switch head.statusCode {
        case 200..<300:
            guard let offset = StructuredField.integer(head.headers["Upload-Offset"]) else {
                throw UploadError(.protocolViolation, detail: "\(head.statusCode) without a valid Upload-Offset")
            }
            if let length = StructuredField.integer(head.headers["Upload-Length"]), let own = cursor.length,
                length != own
            {
                let detail = "the server has an upload of \(length) bytes, the body has \(own)"
                throw UploadError(.protocolViolation, detail: detail)
            }
            try progress.confirm(offset, length: cursor.length)
            guard isComplete != true else { return try completed(head, body) }
            stage = .appending
            return .proceed
        case 409, 423: return hold(.retry(.refused(head, body)))
        default:
            let error = UploadError.refused(head, body)
            if error.isTransient { return hold(.retry(error)) }
            return [403, 404, 410].contains(head.statusCode) ? gone(error) : hold(.fail(error))
        }
    }

    /// The server has all of it; only the response by which it has said so is lost.
    private mutating func completed(_ head: ResponseHead, _ body: Data) throws -> ResumptionVerdict {
        guard let length = cursor.length else {
            stage = .verifying(head, body)
            return .proceed
        }
        guard progress.offset == length else { throw Self.completedAt(progress.offset) }
        stage = .finished(head, body)
        return .proceed
    }

    private static func completedAt(_ offset: Int64) -> UploadError {
        UploadError(.protocolViolation, detail: "it has completed the upload after \(offset) bytes")
    }

    private mutating func answered(
        _ head: ResponseHead,
        _ body: Data,
        _ part: Range<Int64>?,
        _ isComplete: Bool?
    ) throws -> ResumptionVerdict {
        let error = UploadError.refused(head, body)
        if isComplete == true, part != nil || head.statusCode >= 400 {
            if (200..<300).contains(head.statusCode), !isLastPart { throw Self.completedAt(part?.upperBound ?? 0) }
            // It is the verdict on the whole upload.
            location = nil
            guard (200..<300).contains(head.statusCode) else { return hold(.fail(error)) }
            return try finished(head, body, part)
        }
        if isComplete == true, (200..<300).contains(head.statusCode) { throw Self.completedAt(0) }
        switch head.statusCode {
        case 200..<300: return try continued(head, body, part, isComplete)
        case 409:
            guard let offset = StructuredField.integer(head.headers["Upload-Offset"]), location != nil else { break }
            try progress.confirm(offset, length: cursor.length, after: part)
            stage = .appending
            return progress.idleCount > 2 ? hold(.retry(error)) : .proceed
        case 413:
            if case .creating = stage, location == nil, head.headers["Location"] != nil { take(locationIn: head) }
            guard let part, limits.isSmaller(than: part), location != nil, shrinkCount < Self.shrinkLimit else { break }
            shrinkCount += 1
            stage = .querying
            return .proceed
        default: break
        }
        return try refused(head, error)
    }

    private mutating func refused(_ head: ResponseHead, _ error: UploadError) throws -> ResumptionVerdict {
        if case .creating = stage, location == nil, head.headers["Location"] != nil, head.statusCode >= 500 {
            take(locationIn: head)
        }
        if [409, 423].contains(head.statusCode), location != nil {
            askNext()
            return hold(.retry(error))
        }
        if [404, 410].contains(head.statusCode), location != nil { return gone(error) }
        return interrupted(by: error)
    }

    private mutating func continued(
        _ head: ResponseHead,
        _ body: Data,
        _ part: Range<Int64>?,
        _ isComplete: Bool?
    ) throws -> ResumptionVerdict {
        if isLastPart, part != nil, isComplete == nil {
            // Also what a server without support says.
            return try finished(head, body, part)
        }
        if case .creating = stage {
            if location == nil || head.headers["Location"] != nil { take(locationIn: head) }
            if let violation { throw violation }
        }
        if let length = cursor.length, let detail = limits.refusal(of: length) {
            throw UploadError(.bodySizeNotAllowed, detail: detail)
        }
        let end = part?.upperBound ?? 0
        let offset = StructuredField.integer(head.headers["Upload-Offset"]) ?? end
        try progress.confirm(offset, length: cursor.length, after: part ?? 0..<0)
        stage = .appending
        guard part != nil, progress.idleCount > 2 else { return .proceed }
        let detail = "the server takes nothing after \(progress.offset) bytes"
        return hold(.retry(UploadError(.protocolViolation, detail: detail)))
    }

    private mutating func finished(
        _ head: ResponseHead,
        _ body: Data,
        _ part: Range<Int64>?
    ) throws -> ResumptionVerdict {
        try progress.confirm(part?.upperBound ?? 0, length: cursor.length)
        stage = .finished(head, body)
        return .proceed
    }

    /// The server has forgotten the upload. Or it has completed it, and its answer was lost: what must not be done twice is not
    /// begun anew.
    private mutating func gone(_ error: UploadError) -> ResumptionVerdict {
        location = nil
        progress.reset()
        stage = .creating
        creationCount += 1
        guard request.isIdempotent, creationCount < Self.creationLimit else {
            var error = error
            error.code = .uploadExpired
            return hold(.fail(error))
        }
        return .proceed
    }
}
