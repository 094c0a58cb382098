import Foundation

/// One upload by tus 1.0.0: it is created, and then sent on from where the server says, until the server has all of it.
///
/// After anything that leaves open what the server has, it is asked first.
struct TusMachine: ResumptionMachine {
    private enum Stage {
        case discovering, creating, querying, sending
        case finished(ResponseHead, Data)
    }

    /// What part of the body an upload has that is one of several, and what its steps are called.
    struct Share {
        var identifier = 0
        var start: Int64 = 0
        var isPartial = false
    }

    private let request: URLRequest
    private let options: TusOptions
    private let share: Share
    private var extensions: Set<TusOptions.Extension>?
    private var cursor: PartCursor
    private var progress: SequentialProgress
    private var stage: Stage
    private(set) var location: URL?
    /// As the server has written it.
    private(set) var locationText: String?
    private var expiration: Date?
    private var isLengthDeclared = true
    /// What the server takes for the body's length, as it says.
    private var serverLength: Int64?
    private var creationCount = 0
    /// The part of the body that is in flight.
    private var part: Range<Int64>?
    private(set) var isInFlight = false
    private var isHeld = false
    /// What the server says of the upload cannot be true, or is not about this body. Nobody is to go on with it: another process
    /// would not know what this one knows.
    private(set) var isBroken = false

    /// How often an upload is created that is gone again.
    static let creationLimit = 3

    /// - Parameters:
    ///   - request: addressed to the creation URL; its fields go along with every request.
    ///   - length: of the body, or of this share of it; `nil` when it is not known.
    init(
        request: URLRequest,
        length: Int64?,
        options: TusOptions,
        state: ResumptionState?,
        share: Share = Share()
    ) {
        self.request = request
        self.options = options
        self.share = share
        extensions = options.extensions
        cursor = PartCursor(length: length, partSize: options.partSize)
        location = ResumptionLocation.url(in: state, of: request)
        locationText = location?.absoluteString
        expiration = state?.expiration
        progress = SequentialProgress(limit: location == nil ? 0 : length ?? .max)
        stage = location == nil ? .creating : .querying
        isLengthDeclared = location == nil || length != nil
        if extensions == nil, options.sendsBodyWithCreation, location == nil { stage = .discovering }
    }

    var confirmedByteCount: Int64 { progress.offset }

    var state: ResumptionState? {
        guard let location, finished == nil, !isBroken else { return nil }
        return ResumptionState(location: location.absoluteString, expiration: expiration)
    }

    var removal: ResumptionRequest? {
        guard let location else { return nil }
        return ResumptionRequest(identifier: share.identifier, tusRequest("DELETE", location))
    }

    /// The response by which the server has said that it has everything.
    var finished: (head: ResponseHead, body: Data)? {
        if case .finished(let head, let body) = stage { (head, body) } else { nil }
    }

    // MARK: Steps

    mutating func next() -> ResumptionStep {
        if let finished { return .finish(finished.head, finished.body) }
        guard !isInFlight, !isHeld else { return .wait }
        isInFlight = true
        switch stage {
        case .discovering: return .send(ResumptionRequest(identifier: share.identifier, discovery))
        case .creating: return creation()
        case .querying: return query()
        case .sending, .finished: return sending()
        }
    }

    /// Without a version: the server says which ones it speaks.
    private var discovery: URLRequest { request.continued("OPTIONS", request.url) }

    private mutating func creation() -> ResumptionStep {
        switch cursor.next(at: 0) {
        case .read(let start, let count): return .read(identifier: share.identifier, from: start, count: count)
        case .part(let part, let isLast):
            if cursor.length == nil, let failure = cannotDefer() { return failure }
            var request = tusRequest("POST", request.url)
            isLengthDeclared = cursor.length != nil || isLast
            if isLengthDeclared {
                request.setValue(String(cursor.length ?? part.upperBound), forHTTPHeaderField: "Upload-Length")
            } else {
                request.setValue("1", forHTTPHeaderField: "Upload-Defer-Length")
            }
            if share.isPartial {
                request.setValue("partial", forHTTPHeaderField: "Upload-Concat")
            } else if let metadata = Self.metadata(options.metadata) {
                request.setValue(metadata, forHTTPHeaderField: "Upload-Metadata")
            }
            guard options.sendsBodyWithCreation, extensions?.contains(.creationWithUpload) == true, !part.isEmpty else {
                return .send(ResumptionRequest(identifier: share.identifier, request, .data(Data())))
            }
            request.setValue(Self.contentType, forHTTPHeaderField: "Content-Type")
            return send(part, request)
        }
    }

    /// A server that has said nothing of its extensions is tried.
    private mutating func cannotDefer() -> ResumptionStep? {
        guard let extensions, !extensions.contains(.creationDeferLength) else { return nil }
        return .fail(UploadError(.optionNotSupported, detail: "the server wants to know the body's length beforehand"))
    }

    private func query() -> ResumptionStep {
        .send(ResumptionRequest(identifier: share.identifier, tusRequest("HEAD", location)))
    }

    private mutating func sending() -> ResumptionStep {
        switch cursor.next(at: progress.offset) {
        case .read(let start, let count): return .read(identifier: share.identifier, from: start, count: count)
        case .part(let part, let isLast):
            if let serverLength, let length = cursor.length, length != serverLength {
                isBroken = true
                return .fail(Self.mismatch(serverLength, length))
            }
            var request = tusRequest("PATCH", location)
            request.setValue(Self.contentType, forHTTPHeaderField: "Content-Type")
            request.setValue(String(part.lowerBound), forHTTPHeaderField: "Upload-Offset")
            if isLast, !isLengthDeclared {
                request.setValue(String(part.upperBound), forHTTPHeaderField: "Upload-Length")
            }
            return send(part, request)
        }
    }

    private mutating func send(_ part: Range<Int64>, _ request: URLRequest) -> ResumptionStep {
        self.part = part
        let body = (part.lowerBound + share.start)..<(part.upperBound + share.start)
        return .send(ResumptionRequest(identifier: share.identifier, request, .part(body)))
    }

    private static let contentType = "application/offset+octet-stream"

    private func tusRequest(_ method: String, _ url: URL?) -> URLRequest {
        var request = request.continued(method, url)
        request.setValue("1.0.0", forHTTPHeaderField: "Tus-Resumable")
        return request
    }

    /// `Upload-Metadata` as tus writes it; `nil` for none.
    static func metadata(_ metadata: [String: String]) -> String? {
        guard !metadata.isEmpty else { return nil }
        return metadata.sorted { $0.key < $1.key }.map { key, value in
            value.isEmpty ? key : "\(key) \(Data(value.utf8).base64EncodedString())"
        }.joined(separator: ",")
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
        case .ready(let end, _) where end < progress.offset:
            return broken(.shorter(end, than: progress.offset))
        case .ready(let end, let isEnd):
            cursor.didRead(from: progress.offset, to: end, isEnd: isEnd)
            return .proceed
        case .answer: return .proceed
        case .failure(let error):
            askNext()
            return error.isTransient ? hold(.retry(error)) : hold(.fail(error))
        case .response(let head, let body):
            do {
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
        if let part { progress.sent(bytesSent[share.identifier] ?? 0, from: part.lowerBound) }
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

    /// What years of two digits are near to.
    private static let epoch = Date(timeIntervalSince1970: 1_767_225_600)

    /// What the server has is not known any more.
    private mutating func askNext() {
        switch stage {
        case .discovering, .creating, .finished: break
        case .querying, .sending: stage = .querying
        }
    }

    private mutating func received(
        _ head: ResponseHead,
        _ body: Data,
        _ part: Range<Int64>?
    ) throws -> ResumptionVerdict {
        if let text = head.headers["Upload-Expires"] { expiration = HTTPDate.date(from: text, at: Self.epoch) }
        switch stage {
        case .discovering: return discovered(head, body)
        case .creating: return try created(head, body, part)
        case .querying: return try queried(head, body)
        case .sending: return try sent(head, body, part)
        case .finished: return .proceed
        }
    }

    private mutating func discovered(_ head: ResponseHead, _ body: Data) -> ResumptionVerdict {
        let error = UploadError.refused(head, body)
        if error.isTransient { return hold(.retry(error)) }
        extensions = TusDiscovery.extensions(head)
        stage = .creating
        return .proceed
    }

    private mutating func created(
        _ head: ResponseHead,
        _ body: Data,
        _ part: Range<Int64>?
    ) throws -> ResumptionVerdict {
        guard (200..<300).contains(head.statusCode) else { return refused(head, body) }
        location = try ResumptionLocation.url(in: head, sentTo: request.url)
        locationText = head.headers["Location"]
        creationCount += 1
        stage = .sending
        if let offset = head.headers["Upload-Offset"].flatMap(Self.offset), part != nil {
            try progress.confirm(offset, length: cursor.length, after: part)
        }
        finishIfComplete(head, body)
        return .proceed
    }

    private mutating func queried(_ head: ResponseHead, _ body: Data) throws -> ResumptionVerdict {
        switch head.statusCode {
        case 200..<300:
            let length = head.headers["Upload-Length"].flatMap(Self.offset)
            if let length, let own = cursor.length, length != own {
                throw Self.mismatch(length, own)
            }
            if let length { (isLengthDeclared, serverLength) = (true, length) }
            try progress.confirm(try Self.offset(in: head), length: cursor.length ?? length)
            stage = .sending
            finishIfComplete(head, body)
            return .proceed
        case 403, 404, 410: return gone(head, body)
        case 423: return hold(.retry(.refused(head, body)))
        default: return refused(head, body)
        }
    }

    private mutating func sent(
        _ head: ResponseHead,
        _ body: Data,
        _ part: Range<Int64>?
    ) throws -> ResumptionVerdict {
        switch head.statusCode {
        case 200..<300:
            try progress.confirm(try Self.offset(in: head), length: cursor.length, after: part)
            if let part, part.upperBound == cursor.length { isLengthDeclared = true }
            finishIfComplete(head, body)
            return progress.idleCount > 2 ? hold(.retry(Self.standstill(progress.offset))) : .proceed
        case 404, 410: return gone(head, body)
        case 409:
            // Something was taken that was not heard of, or the connection before is still being read.
            stage = .querying
            return progress.idleCount > 1 ? hold(.retry(.refused(head, body))) : .proceed
        case 423, 460:
            stage = .querying
            return hold(.retry(.refused(head, body)))
        case 400 where String(decoding: body, as: UTF8.self).contains("ERR_UPLOAD_INTERRUPTED"):
            stage = .querying
            return hold(.retry(.refused(head, body)))
        default:
            stage = .querying
            return refused(head, body)
        }
    }

    private mutating func refused(_ head: ResponseHead, _ body: Data) -> ResumptionVerdict {
        let error = UploadError.refused(head, body)
        return hold(error.isTransient ? .retry(error) : .fail(error))
    }

    /// The server has forgotten the upload; it is created anew, and sent from its start.
    private mutating func gone(_ head: ResponseHead, _ body: Data) -> ResumptionVerdict {
        (location, locationText, expiration, serverLength) = (nil, nil, nil, nil)
        progress.reset()
        stage = .creating
        guard creationCount < Self.creationLimit else {
            var error = UploadError.refused(head, body)
            error.code = .uploadExpired
            return hold(.fail(error))
        }
        // One that was begun by another process has been created, too.
        creationCount = max(1, creationCount)
        return .proceed
    }

    private mutating func finishIfComplete(_ head: ResponseHead, _ body: Data) {
        guard isLengthDeclared, let length = cursor.length, progress.offset == length else { return }
        stage = .finished(head, body)
    }

    private static func mismatch(_ length: Int64, _ own: Int64) -> UploadError {
        let detail = "the server has an upload of \(length) bytes, the body has \(own)"
        return UploadError(.protocolViolation, detail: detail)
    }

    private static func standstill(_ offset: Int64) -> UploadError {
        UploadError(.protocolViolation, detail: "the server takes nothing after \(offset) bytes")
    }

    private static func offset(in head: ResponseHead) throws -> Int64 {
        guard let text = head.headers["Upload-Offset"] else {
            throw UploadError(.protocolViolation, detail: "\(head.statusCode) without Upload-Offset")
        }
        guard let offset = offset(text) else {
            throw UploadError(.protocolViolation, detail: "Upload-Offset \(text.debugDescription)")
        }
        return offset
    }

    private static func offset(_ text: String) -> Int64? {
        Int64(decimal: text.trimmingCharacters(in: .whitespaces))
    }
}

/// What a server says that it can do (tus 1.0.0, "OPTIONS").
enum TusDiscovery {
    /// A server that says nothing can do nothing but the core and, or there would be no point in asking, creation.
    static func extensions(_ head: ResponseHead) -> Set<TusOptions.Extension> {
        let names = (head.headers["Tus-Extension"] ?? "").split(separator: ",")
        let known = names.compactMap { TusOptions.Extension(rawValue: $0.trimmingCharacters(in: .whitespaces)) }
        return Set(known).union([.creation])
    }
}
