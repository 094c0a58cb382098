import Foundation

/// One upload by a resumable session of Google Cloud Storage: the session is started, and then sent to from where the
/// server says, until that has all of it.
///
/// After anything that leaves open what the server has, it is asked first.
///
/// Sources: <https://cloud.google.com/storage/docs/performing-resumable-uploads> and, for what may pass,
/// <https://cloud.google.com/storage/docs/retry-strategy>.
struct GCSMachine: ResumptionMachine {
    private enum Stage {
        case starting, querying, sending
        /// The object has so many bytes; the body, whose end was not seen, is read to see whether that is all of it.
        case verifying(Int64, ResponseHead, Data)
        case finished(ResponseHead, Data)
    }

    private enum Step {
        case start, query
        case read(from: Int64)
        case chunk(Range<Int64>)
    }

    private struct Session {
        /// As it was given.
        let text: String
        let url: URL
    }

    private let request: URLRequest
    private let length: Int64?
    private let contentType: String?
    private let options: GCSOptions
    private var cursor: PartCursor
    private var session: Session?
    private var stage = Stage.starting
    private var step: Step?
    private var isHeld = false
    private var progress = SequentialProgress()
    private var lostCount = 0
    /// What the server says of the session cannot be true. Nobody is to go on with it: an earlier process may have sent
    /// what this one knows that it has not.
    private var isBroken = false

    /// All chunks but the last are a multiple of so many bytes.
    static let alignment: Int64 = 256 << 10
    /// How often a session is started anew that is gone.
    static let restartLimit = 3
    /// How many requests in a row may be answered without anything having moved before there is a wait.
    static let idleLimit = 5

    /// - Parameters:
    ///   - request: what starts the session; its fields go along with every request.
    ///   - length: of the body; `nil` when it is not known.
    ///   - contentType: of the body.
    init(request: URLRequest, length: Int64?, contentType: String?, options: GCSOptions, state: ResumptionState?) {
        self.request = request
        self.length = length
        self.contentType = contentType
        self.options = options
        cursor = Self.cursor(length, options)
        adopt(options.sessionURI.map { $0.absoluteString } ?? state?.location)
    }

    private static func cursor(_ length: Int64?, _ options: GCSOptions) -> PartCursor {
        PartCursor(length: length, partSize: options.partSize.map { min($0, GCSAnswer.sizeLimit) })
    }

    /// Goes on with a session that somebody else may have sent to.
    private mutating func adopt(_ text: String?) {
        guard let text, let url = URL(string: text), Origin(url) != nil else { return }
        session = Session(text: text, url: url)
        progress = SequentialProgress(limit: length ?? .max)
        stage = .querying
    }

    var confirmedByteCount: Int64 { progress.offset }

    var state: ResumptionState? {
        guard let session, !isBroken, !isFinished else { return nil }
        return ResumptionState(location: session.text)
    }

    var removal: ResumptionRequest? {
        guard let session, !isFinished else { return nil }
        return ResumptionRequest(sessionRequest("DELETE", session), .data(Data()))
    }

    private var isFinished: Bool {
        if case .finished = stage { true } else { false }
    }

    // MARK: Steps

    mutating func next() -> ResumptionStep {
        if case .finished(let head, let body) = stage { return .finish(head, body) }
        guard step == nil, !isHeld else { return .wait }
        if session == nil { adopt(options.sessionURI?.absoluteString) }
        guard let session else {
            step = .start
            return .send(ResumptionRequest(startRequest, .data(options.metadata ?? Data())))
        }
        if case .querying = stage {
            step = .query
            return send(session, range: "*", total: length, .data(Data()))
        }
        if case .verifying(let size, _, _) = stage {
            step = .read(from: size)
            return .read(identifier: 0, from: size, count: 1)
        }
        switch cursor.next(at: progress.offset, alignment: Self.alignment) {
        case .read(let start, let count):
            step = .read(from: start)
            return .read(identifier: 0, from: start, count: count)
        case .part(let part, _):
            step = .chunk(part)
            guard !part.isEmpty else { return send(session, range: "*", total: cursor.length, .data(Data())) }
            return send(session, range: "\(part.lowerBound)-\(part.upperBound - 1)", total: cursor.length, .part(part))
        }
    }

    private var startRequest: URLRequest {
        var start = request
        if start.httpMethod == nil || start.httpMethod == "GET" { start.httpMethod = "POST" }
        start.removeHeaderFields { $0 == "content-length" }
        var type = contentType
        let ownType = start.value(forHTTPHeaderField: "Content-Type")
        if options.metadata != nil, ownType?.lowercased().hasPrefix("application/json") != true {
            // The field tells what this request carries; the caller means the object.
            type = ownType ?? type
            start.setValue("application/json; charset=UTF-8", forHTTPHeaderField: "Content-Type")
        }
        start.setDefault(type, for: "X-Upload-Content-Type")
        start.setDefault(length.map(String.init), for: "X-Upload-Content-Length")
        return start
    }

    private func send(
        _ session: Session,
        range: String,
        total: Int64?,
        _ body: ResumptionRequest.Body
    ) -> ResumptionStep {
        var request = sessionRequest("PUT", session)
        request.setValue("bytes \(range)/\(total.map(String.init) ?? "*")", forHTTPHeaderField: "Content-Range")
        return .send(ResumptionRequest(request, body))
    }

    private func sessionRequest(_ method: String, _ session: Session) -> URLRequest {
        var request = request.continued(method, session.url)
        request.removeHeaderFields { $0.hasPrefix("x-upload-") || $0 == "x-goog-resumable" }
        if Origin(session.url) != Origin(self.request.url) {
            // The session's URI is all that it takes; whoever is there must not learn more.
            request.removeHeaderFields { ["authorization", "cookie", "proxy-authorization"].contains($0) }
        }
        return request
    }

    // MARK: Outcomes

    mutating func receive(_ outcome: ResumptionOutcome, bytesSent: Int64, for identifier: Int) -> ResumptionVerdict {
        guard identifier == 0, let step else { return .proceed }
        self.step = nil
        count(bytesSent, of: step)
        do {
            switch (outcome, step) {
            case (.ready(let end, let isEnd), .read(let start)): try ready(from: start, to: end, isEnd: isEnd)
            case (.failure(let error), _):
                askNext(after: step)
                return hold(error.isTransient ? .retry(error) : .fail(error))
            case (.response(let head, let body), .start): return try started(head, body)
            case (.response(let head, let body), .query), (.response(let head, let body), .chunk):
                return try answered(head, body, to: step)
            default: askNext(after: step)
            }
            return .proceed
        } catch let error as UploadError {
            return hold(.fail(error))
        } catch {
            return hold(.fail(UploadError(.protocolViolation, underlying: error)))
        }
    }

    mutating func resume(_ identifier: Int) {
        isHeld = false
    }

    mutating func interrupt(bytesSent: [Int: Int64]) {
        if let step {
            count(bytesSent[0] ?? 0, of: step)
            askNext(after: step)
        }
        (step, isHeld) = (nil, false)
    }

    private mutating func hold(_ verdict: ResumptionVerdict) -> ResumptionVerdict {
        isHeld = true
        return verdict
    }

    private mutating func count(_ bytesSent: Int64, of step: Step) {
        guard case .chunk(let part) = step else { return }
        progress.sent(min(bytesSent, part.upperBound - part.lowerBound), from: part.lowerBound)
    }

    /// What the server has is not known any more, unless nothing was sent to it.
    private mutating func askNext(after step: Step) {
        if case .read = step { return }
        if session != nil, !isFinished { stage = .querying }
    }

    private mutating func ready(from start: Int64, to end: Int64, isEnd: Bool) throws {
        guard end >= start else {
            isBroken = true
            throw UploadError.shorter(end, than: start)
        }
        if case .verifying(let size, let head, let body) = stage {
            guard isEnd, end == size else { throw violation("it has finished the upload before the body's end") }
            progress.complete(size)
            stage = .finished(head, body)
            return
        }
        cursor.didRead(from: start, to: end, isEnd: isEnd)
    }

    private mutating func started(_ head: ResponseHead, _ body: Data) throws -> ResumptionVerdict {
        guard head.statusCode == 200 || head.statusCode == 201 else { return refused(head, body) }
        let url = try ResumptionLocation.url(in: head, sentTo: request.url)
        // What was relative, or had a password in it, is not what is used.
        let text = head.headers["Location"].flatMap { URL(string: $0)?.absoluteURL == url ? $0 : nil }
        session = Session(text: text ?? url.absoluteString, url: url)
        stage = .sending
        return .proceed
    }

    private mutating func answered(_ head: ResponseHead, _ body: Data, to step: Step) throws -> ResumptionVerdict {
        switch head.statusCode {
        case 200, 201:
            try finish(head, body)
            return .proceed
        case 308: return try persisted(head, after: step)
        case 404, 410: return gone(head, body)
        default:
            askNext(after: step)
            return refused(head, body)
        }
    }

    private mutating func persisted(_ head: ResponseHead, after step: Step) throws -> ResumptionVerdict {
        let part: Range<Int64>? = if case .chunk(let part) = step { part } else { nil }
        let before = progress.offset
        try violating {
            try $0.progress.confirm(try GCSAnswer.persistedCount(head), length: $0.cursor.length, after: part)
        }
        // What is behind the part that was read last has to be read again.
        if progress.offset < before { cursor = Self.cursor(length, options) }
        stage = .sending
        guard part != nil, progress.idleCount >= Self.idleLimit else { return .proceed }
        stage = .querying
        let detail = "the server has taken nothing of \(progress.idleCount) requests after \(progress.offset) bytes"
        return hold(.retry(UploadError(.stalled, detail: detail)))
    }

    private mutating func refused(_ head: ResponseHead, _ body: Data) -> ResumptionVerdict {
        let error = UploadError.refused(head, body)
        return hold(error.isTransient ? .retry(error) : .fail(error))
    }

    /// The session is gone; there is another one, from the body's start, if it may be started.
    private mutating func gone(_ head: ResponseHead, _ body: Data) -> ResumptionVerdict {
        (session, isBroken) = (nil, false)
        progress.reset()
        cursor = Self.cursor(length, options)
        stage = .starting
        lostCount += 1
        guard options.sessionURI == nil, lostCount <= Self.restartLimit else {
            var error = UploadError.refused(head, body)
            error.code = .uploadExpired
            return hold(.fail(error))
        }
        return .proceed
    }

    /// Takes the server's word that the object is there if that can be the body.
    private mutating func finish(_ head: ResponseHead, _ body: Data) throws {
        let size = try violating { _ in try GCSAnswer.size(head, body) }
        guard let length = cursor.length else {
            guard size ?? 0 <= progress.limit, size != nil || progress.limit == .max else {
                throw violation("it has finished the upload before the body's end")
            }
            // Without a size there is nothing to compare.
            stage = size.map { .verifying($0, head, body) } ?? .finished(head, body)
            return
        }
        if let size {
            if size != length { throw violation("it has \(size) bytes of a body of \(length)") }
        } else if progress.limit < length {
            throw violation("it has finished the upload of \(length) bytes, \(progress.limit) were handed over")
        }
        progress.complete(length)
        stage = .finished(head, body)
    }

    private mutating func violating<Value>(_ work: (inout Self) throws -> Value) throws -> Value {
        do {
            return try work(&self)
        } catch {
            isBroken = true
            throw error
        }
    }

    private mutating func violation(_ detail: String) -> UploadError {
        isBroken = true
        return UploadError(.protocolViolation, detail: detail)
    }
}

extension URLRequest {
    fileprivate mutating func setDefault(_ value: String?, for name: String) {
        guard let value, self.value(forHTTPHeaderField: name) == nil else { return }
        setValue(value, forHTTPHeaderField: name)
    }
}
