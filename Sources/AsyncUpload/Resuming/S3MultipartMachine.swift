import Foundation

/// One upload to Amazon S3: a small body by the upload's own request, a larger one as a multipart upload, several parts at
/// the same time, whose requests somebody else signs.
///
/// A body without a length is read one part ahead, and sent one part at a time. The memory limit bounds these parts, and how
/// far it is read to see whether it is small.
///
/// An upload that is gone when it is to be completed, after a reply to that was lost, may have been completed: it
/// fails, since whoever may only sign requests cannot look whether the object is there. Another process, which does not know
/// of that reply, begins such an upload anew.
///
/// Source: <https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html>.
struct S3MultipartMachine: ResumptionMachine {
    private enum Stage {
        /// The body's beginning is read, which may be all of it.
        case probing
        case single(Range<Int64>)
        case creating, listing
        /// The last part that an earlier process has sent is read again: it may be the body's last one.
        case verifying(Int)
        case sending, completing
        case finished(ResponseHead, Data)
        case impossible(UploadError)
    }

    private enum Step {
        case read(from: Int64)
        case single(Range<Int64>)
        case create, list, complete
        case part(Int, Range<Int64>)

        /// Which part it sends; other steps have numbers that parts do not have.
        var number: Int {
            switch self {
            case .part(let number, _): number
            case .list: -1
            case .read, .single, .create, .complete: 0
            }
        }
    }

    private let request: URLRequest
    private let length: Int64?
    private let contentType: String?
    private let options: S3MultipartOptions
    private var plan: S3PartPlan
    private var cursor: PartCursor
    private var stage: Stage
    /// What the upload is called at the server.
    private var name: String?
    private var inventory: S3Inventory
    private var singleByteCount: Int64 = 0
    /// `nil` until the body's end has been seen.
    private var partCount: Int?
    /// The first part that was never given to be sent.
    private var nextNumber = 1
    /// Parts that have to be sent again.
    private var repeated: [Int] = []
    private var inFlight: [Int: Step] = [:]
    private var held: [Int: Step] = [:]
    /// Whose requests were asked for once more, after a 403.
    private var denied: Set<Int> = []
    /// Makes the steps' identifiers new, so that nothing late is taken for something else.
    private var round = 0
    private var lostCount = 0
    private var isCompletionUncertain = false
    /// The server does not want these parts; another process would not do better with them.
    private var isBroken = false

    /// How often an upload is created anew that is gone.
    static let restartLimit = 3

    /// - Parameters:
    ///   - request: a presigned PUT of the whole object.
    ///   - length: of the body; `nil` when it is not known.
    ///   - contentType: of the body.
    init(
        request: URLRequest,
        length: Int64?,
        contentType: String?,
        options: S3MultipartOptions,
        state: ResumptionState?
    ) {
        self.request = request
        self.length = length
        self.contentType = contentType
        self.options = options
        cursor = PartCursor(length: length, partSize: S3PartPlan.usualPart)
        plan = S3PartPlan(length: length, partSize: options.partSize, memoryLimit: options.memoryLimit)
        inventory = S3Inventory(plan, length: length)
        let resumed = S3PartPlan(resumed: state)
        if let state, state.location?.isEmpty == false, resumed.complaint(length: length) == nil {
            (plan, name, stage) = (resumed, state.location, .listing)
            inventory = S3Inventory(plan, length: length, parts: state.parts)
            partCount = length.map(plan.count)
            if options.list == nil { settle() }
        } else if let complaint = plan.complaint(length: length) {
            stage = .impossible(complaint)
        } else if let length {
            partCount = plan.count(length: length)
            stage = Self.isSmall(length, options) ? .single(0..<length) : .creating
        } else {
            stage = .probing
        }
    }

    /// There is no multipart upload of nothing.
    private static func isSmall(_ length: Int64, _ options: S3MultipartOptions) -> Bool {
        length == 0 || length <= min(options.singleRequestLimit, S3PartPlan.largestPart)
    }

    var state: ResumptionState? {
        guard let name, !isBroken, !isFinished else { return nil }
        let limit = plan.partSize == nil ? plan.growthLimit : nil
        return ResumptionState(
            location: name,
            partSize: plan.partSize,
            partSizeLimit: limit,
            parts: inventory.parts
        )
    }

    var confirmedByteCount: Int64 { singleByteCount + inventory.byteCount }

    var removal: ResumptionRequest? {
        guard let abort = options.abort, let name, !isFinished else { return nil }
        return ResumptionRequest(asking: { try await abort(name).presigned("DELETE") }, .none)
    }

    private var isFinished: Bool {
        if case .finished = stage { true } else { false }
    }

    // MARK: Steps

    mutating func next() -> ResumptionStep {
        switch stage {
        case .finished(let head, let body): return .finish(head, body)
        case .impossible(let error): return .fail(error)
        case .sending where length != nil: return nextPart()
        default: break
        }
        guard inFlight.isEmpty, held.isEmpty else { return .wait }
        switch stage {
        case .probing:
            let limit = min(options.singleRequestLimit, options.memoryLimit, S3PartPlan.largestPart)
            return read(from: 0, count: Int(clamping: max(plan.size(of: 1), limit)) + 1)
        case .single(let part):
            let identifier = begin(.single(part))
            let request = request.presigned("PUT", contentType: contentType)
            return .send(ResumptionRequest(identifier: identifier, request, .part(part)))
        case .creating: return .ask(identifier: begin(.create), options.create)
        case .verifying(let number):
            return read(from: plan.start(of: number), count: Int(clamping: plan.size(of: number)) + 1)
        case .sending: return nextPartInOrder()
        case .listing:
            guard let list = options.list else { return .wait }
            return ask(.list, "GET", list, .none)
        case .completing:
            return ask(.complete, "POST", options.complete, .data(S3Answer.completionBody(inventory.parts)))
        case .finished, .impossible: return .wait
        }
    }

    private mutating func begin(_ step: Step) -> Int {
        let identifier = round * 100_000 + max(0, step.number)
        inFlight[identifier] = step
        return identifier
    }

    private mutating func read(from start: Int64, count: Int) -> ResumptionStep {
        .read(identifier: begin(.read(from: start)), from: start, count: count)
    }

    private mutating func ask(
        _ step: Step,
        _ method: String,
        _ sign: @escaping @Sendable (String) async throws -> URLRequest,
        _ body: ResumptionRequest.Body
    ) -> ResumptionStep {
        let name = name ?? ""
        // Some systems would add the type of a form.
        let type = method == "POST" ? "application/xml" : nil
        let make: @Sendable () async throws -> URLRequest = {
            try await sign(name).presigned(method, contentType: type)
        }
        return .send(ResumptionRequest(identifier: begin(step), asking: make, body))
    }

    private mutating func nextPart() -> ResumptionStep {
        guard inFlight.count + held.count < max(1, options.parallelParts), let length, let number = takeUnsent() else {
            return .wait
        }
        return send(number, plan.range(of: number, length: length))
    }

    private mutating func takeUnsent() -> Int? {
        guard repeated.isEmpty else { return repeated.removeFirst() }
        passFinished()
        guard let partCount, nextNumber <= partCount else { return nil }
        defer { nextNumber += 1 }
        return nextNumber
    }

    private mutating func passFinished() {
        while inventory.parts[nextNumber] != nil { nextNumber += 1 }
    }

    private mutating func nextPartInOrder() -> ResumptionStep {
        passFinished()
        cursor.partSize = plan.size(of: nextNumber)
        switch cursor.next(at: plan.start(of: nextNumber)) {
        case .read(let start, let count): return read(from: start, count: count)
        case .part(let part, let isLast):
            if isLast { partCount = nextNumber }
            guard isLast || nextNumber < S3PartPlan.partLimit else {
                let error = S3PartPlan.tooManyParts(nil)
                stage = .impossible(error)
                return .fail(error)
            }
            return send(nextNumber, part)
        }
    }

    private mutating func send(_ number: Int, _ part: Range<Int64>) -> ResumptionStep {
        let sign = options.part
        return ask(.part(number, part), "PUT", { try await sign($0, number) }, .part(part))
    }

    // MARK: Outcomes

    mutating func receive(_ outcome: ResumptionOutcome, bytesSent: Int64, for identifier: Int) -> ResumptionVerdict {
        guard let step = inFlight.removeValue(forKey: identifier) else { return .proceed }
        switch (outcome, step) {
        case (.failure(let error), _):
            if case .complete = step, error.mayHaveReachedServer { isCompletionUncertain = true }
            return hold(step, identifier, error)
        case (.ready(let end, let isEnd), .read(let start)):
            if let error = ready(from: start, to: end, isEnd: isEnd) { return hold(step, identifier, error) }
        case (.answer(let name), .create):
            guard !name.isEmpty else {
                return hold(step, identifier, UploadError(.protocolViolation, detail: "the upload has no identifier"))
            }
            self.name = name
            stage = .sending
        case (.response(let head, let body), _):
            guard (200..<300).contains(head.statusCode) else { return refused(head, body, step, identifier) }
            if let error = accepted(head, body, step, bytesSent) { return hold(step, identifier, error) }
        default: giveAgain(step)
        }
        return .proceed
    }

    mutating func resume(_ identifier: Int) {
        if let step = held.removeValue(forKey: identifier) { giveAgain(step) }
    }

    mutating func interrupt(bytesSent: [Int: Int64]) {
        for step in inFlight.values {
            if case .complete = step { isCompletionUncertain = true }
            giveAgain(step)
        }
        for step in held.values { giveAgain(step) }
        repeated.sort()
        (inFlight, held) = ([:], [:])
        round += 1
    }

    /// Other steps than parts follow from the stage; so do the parts of a body without a length.
    private mutating func giveAgain(_ step: Step) {
        if case .part(let number, _) = step, length != nil { repeated.append(number) }
    }

    private mutating func hold(_ step: Step, _ identifier: Int, _ error: UploadError) -> ResumptionVerdict {
        held[identifier] = step
        return error.isTransient ? .retry(error) : .fail(error)
    }

    private mutating func ready(from start: Int64, to end: Int64, isEnd: Bool) -> UploadError? {
        guard end >= start else {
            isBroken = true
            return UploadError(.bodyLengthMismatch, detail: "\(start) bytes of a body of \(end) were sent before")
        }
        cursor.didRead(from: start, to: end, isEnd: isEnd)
        switch stage {
        case .probing: stage = isEnd && Self.isSmall(end, options) ? .single(0..<end) : .creating
        case .verifying(let number):
            inventory.verify(number, size: min(end - start, plan.size(of: number)))
            stage = .sending
            if isEnd, inventory.byteCount == end { partCount = number }
            completeIfPossible()
        default: break
        }
        return nil
    }

    /// What a 2xx means; an error if it is no success.
    private mutating func accepted(
        _ head: ResponseHead,
        _ body: Data,
        _ step: Step,
        _ bytesSent: Int64
    ) -> UploadError? {
        switch step {
        case .single(let part), .part(_, let part):
            guard bytesSent >= part.upperBound - part.lowerBound else {
                let response = UploadError.refused(head, body).response
                return UploadError(.bodyNotSent, detail: "\(bytesSent) bytes were sent", response: response)
            }
            return stored(part, step, head, body)
        case .list:
            do { inventory.adopt(try S3Answer.listing(head, body)) } catch { return error }
            settle()
        case .complete:
            if case .failed(let error) = S3Answer.completion(head, body) {
                isCompletionUncertain = isCompletionUncertain || error.isTransient
                isBroken = S3Answer.condemnsParts(body)
                return error
            }
            stage = .finished(head, body)
        case .read, .create: break
        }
        return nil
    }

    private mutating func stored(
        _ part: Range<Int64>,
        _ step: Step,
        _ head: ResponseHead,
        _ body: Data
    ) -> UploadError? {
        guard case .part(let number, _) = step else {
            singleByteCount = part.upperBound
            stage = .finished(head, body)
            return nil
        }
        guard let entityTag = head.headers["ETag"], !entityTag.isEmpty else {
            return UploadError(.protocolViolation, detail: "\(head.statusCode) to part \(number) without ETag")
        }
        inventory.store(number, entityTag, size: part.upperBound - part.lowerBound)
        completeIfPossible()
        return nil
    }

    private mutating func completeIfPossible() {
        if inventory.parts.count == partCount { stage = .completing }
    }

    /// Goes on with the parts that an earlier process has stored.
    private mutating func settle() {
        stage = inventory.settle().map { .verifying($0) } ?? .sending
        completeIfPossible()
    }

    private mutating func refused(
        _ head: ResponseHead,
        _ body: Data,
        _ step: Step,
        _ identifier: Int
    ) -> ResumptionVerdict {
        let error = S3Answer.refused(head, body)
        // Nobody is asked for this one.
        if case .single = step { return hold(step, identifier, error) }
        if S3Answer.saysGone(head, body) { return gone(error, step, identifier) }
        if S3Answer.saysDenied(head, body), denied.insert(step.number).inserted {
            giveAgain(step)
            return .proceed
        }
        if case .complete = step {
            isCompletionUncertain = isCompletionUncertain || error.isTransient
            isBroken = S3Answer.condemnsParts(body)
        }
        return hold(step, identifier, error)
    }

    /// The upload is not there any more; there is another one, from the body's start.
    private mutating func gone(_ refusal: UploadError, _ step: Step, _ identifier: Int) -> ResumptionVerdict {
        var mayBeComplete = false
        if case .complete = step { mayBeComplete = isCompletionUncertain }
        (name, inFlight, held, repeated) = (nil, [:], [:], [])
        (nextNumber, denied, isCompletionUncertain, isBroken) = (1, [], false, false)
        inventory = S3Inventory(plan, length: length)
        cursor = PartCursor(length: length, partSize: S3PartPlan.usualPart)
        if length == nil { partCount = nil }
        round += 1
        lostCount += 1
        stage = .creating
        guard !mayBeComplete, lostCount <= Self.restartLimit else {
            var error = refusal
            error.code = .uploadExpired
            if mayBeComplete {
                error.detail = "it is gone, and the reply to its completion was lost: the object may be complete"
            }
            return hold(.create, identifier, error)
        }
        return .proceed
    }
}
