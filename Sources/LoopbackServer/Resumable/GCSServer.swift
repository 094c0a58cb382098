import Foundation

/// A server of Google Cloud Storage's resumable upload sessions, JSON API.
///
/// A PUT that breaks off has stored what has arrived. How much of a chunk is stored otherwise is up to the script.
public final class GCSServer: Sendable {
    /// All chunks but the last have to be multiples of this.
    public static let chunkMultiple: Int64 = 256 << 10

    struct Site: Sendable {
        let prefix: String
        let base: String
    }

    /// What was uploaded. The `name` of an upload is that of the object.
    public let store: UploadStore
    private let token: String?
    private let goneStatus: Int
    private let whenBusy: BusyRule
    private let desk: UploadDesk

    /// - Parameters:
    ///   - store: Where uploads are stored.
    ///   - requiresToken: The token that `Authorization: Bearer` has to carry when a session is started, or it gets a
    ///     401. Sessions need none.
    ///   - goneStatus: The status for sessions that there were.
    ///   - whenBusy: What happens while another request for the same session is served.
    ///   - script: What goes wrong.
    public init(
        store: UploadStore = UploadStore(),
        requiresToken: String? = nil,
        goneStatus: Int = 404,
        whenBusy: BusyRule = .interrupt,
        script: @escaping UploadScript = { _ in nil }
    ) {
        self.store = store
        token = requiresToken
        self.goneStatus = goneStatus
        self.whenBusy = whenBusy
        desk = UploadDesk(store: store, script: script)
    }

    /// Starts sessions at `<prefix><bucket>/o`, for any bucket, and has them at URIs with the same path.
    public func install(on server: LoopbackServer, prefix: String = "/upload/storage/v1/b/") {
        let site = Site(prefix: prefix, base: "http://127.0.0.1:\(server.port)")
        server.route(nil, prefix + "*") { [self] exchange in
            let request = exchange.request
            let id = sessionID(request.target)
            try desk.serve(exchange, method: request.method, upload: id) { turn in
                try answer(turn, id: id, at: site)
            }
        }
    }

    /// Not percent-decoded: the URI is to be used as it is.
    private func sessionID(_ target: String) -> String? {
        target.range(of: "&upload_id=").map { String(target[$0.upperBound...]) }
    }

    private func answer(_ turn: Turn, id: String?, at site: Site) throws -> Reply {
        switch (turn.request.method, id) {
        case ("POST", nil): return try start(turn, at: site)
        case ("PUT", let id?): return try turn.holding(id, whenBusy: whenBusy) { try put(turn, $0) }
        case ("DELETE", let id?): return try turn.holding(id, whenBusy: whenBusy) { try cancel(turn, $0.id) }
        default: throw Reply.refusal(405, "no such method here")
        }
    }

    // MARK: Sessions

    private func start(_ turn: Turn, at site: Site) throws -> Reply {
        try turn.require(token: token)
        try turn.requireFraming()
        let path = turn.request.path.dropFirst(site.prefix.count).split(separator: "/")
        let items = queryItems(of: turn.request.target)
        guard path.count == 2, path[1] == "o", items["uploadType"] == "resumable" else {
            throw Reply.refusal(400, "no uploadType=resumable, or a wrong path")
        }
        _ = try turn.number("X-Upload-Content-Length")
        let metadata = try metadata(turn)
        guard let name = items["name"] ?? metadata["name"] as? String, !name.isEmpty else {
            throw Reply.refusal(400, "no name")
        }
        let id = store.create(name, for: turn.request, completesByLength: true, id: { "AEnB2U+\($0):a-b_c" })
        turn.id = id
        var reply = Reply(200)
        let uri = "\(turn.origin(site.base))\(turn.request.target)&upload_id=\(id)"
        reply.add("Location", turn.script.location(for: uri))
        reply.add("X-GUploader-UploadID", id)
        return reply
    }

    private func metadata(_ turn: Turn) throws -> [String: Any] {
        try turn.exchange.readBody(keeping: true)
        guard let body = turn.exchange.kept, !body.isEmpty else { return [:] }
        guard turn.request.header("Content-Type")?.lowercased().hasPrefix("application/json") == true,
            let object = try? JSONSerialization.jsonObject(with: body) as? [String: Any]
        else { throw Reply.refusal(400, "the body is no JSON object") }
        return object
    }

    private func find(_ turn: Turn, _ id: String) throws -> UploadStore.Upload {
        if let upload = store.peek(id), turn.request.target == "\(upload.target)&upload_id=\(id)" { return upload }
        throw Reply.refusal(store[id]?.isGone == true ? goneStatus : 404, "no such session")
    }

    private func cancel(_ turn: Turn, _ id: String) throws -> Reply {
        _ = try find(turn, id)
        guard turn.request.header("Content-Length") == "0" else { throw Reply.refusal(411, "no Content-Length: 0") }
        store.forget(id)
        return Reply(499)
    }

    // MARK: PUT

    private func put(_ turn: Turn, _ hold: Turn.Hold) throws -> Reply {
        let upload = try find(turn, hold.id)
        try turn.requireFraming()
        let range = try turn.single("Content-Range").map { text in
            guard let range = ContentRange(text) else { throw Reply.refusal(400, "bad Content-Range") }
            return range
        }
        if let total = range?.total { try check(total: total, of: upload) }
        if let range, range.bytes == nil { return try status(turn, upload, range) }
        guard !upload.isComplete else { throw Reply.refusal(400, "the upload is finished") }
        let room = try checkedRoom(turn, upload, range)
        try turn.receive(into: hold, room: room)
        if let total = range?.total {
            store.setLength(hold.id, total)
        } else if let stored = store.peek(hold.id)?.offset, stored == turn.exchange.bodyByteCount, range == nil {
            store.setLength(hold.id, stored)
        }
        turn.settle(hold.id)
        return reply(turn, hold.id)
    }

    private func check(total: Int64, of upload: UploadStore.Upload) throws {
        let declared = upload.length ?? upload.field("X-Upload-Content-Length").flatMap { decimal($0) }
        guard declared == nil || declared == total, total >= upload.offset else {
            throw Reply.refusal(400, "another total than before, or less than is stored")
        }
    }

    /// Answers `bytes */total`, which finishes an upload whose bytes are all there, or `bytes */*`.
    private func status(_ turn: Turn, _ upload: UploadStore.Upload, _ range: ContentRange) throws -> Reply {
        guard turn.contentLength == 0 else { throw Reply.refusal(400, "a body without a range") }
        if let total = range.total, total == upload.offset { store.setLength(upload.id, total) }
        turn.settle(upload.id)
        return reply(turn, upload.id)
    }

    /// How many bytes the request may add. It is refused if it may not add its own.
    private func checkedRoom(_ turn: Turn, _ upload: UploadStore.Upload, _ range: ContentRange?) throws -> Int64? {
        guard let range, let bytes = range.bytes else {
            guard upload.offset == 0 else { throw Reply.refusal(400, "no Content-Range, but bytes are stored") }
            let declared = upload.length ?? upload.field("X-Upload-Content-Length").flatMap { decimal($0) }
            if let declared, let count = turn.contentLength, count != declared {
                throw Reply.refusal(400, "not the declared length")
            }
            return declared
        }
        let count = bytes.upperBound - bytes.lowerBound + 1
        guard turn.contentLength == count else { throw Reply.refusal(400, "the body is not as long as the range") }
        guard bytes.lowerBound == upload.offset else { throw Reply.refusal(400, "\(upload.offset) bytes are stored") }
        let isLast = bytes.upperBound + 1 == range.total
        guard isLast || count.isMultiple(of: Self.chunkMultiple) else {
            throw Reply.refusal(400, "no multiple of \(Self.chunkMultiple), and not the last")
        }
        return count
    }

    private func reply(_ turn: Turn, _ id: String) -> Reply {
        let offset = turn.shownOffset(id)
        guard let upload = store.peek(id), upload.isComplete else {
            let range = offset > 0 ? [("Range", "bytes=0-\(offset - 1)")] : []
            return Reply(308, range, reason: "Resume Incomplete")
        }
        let name = upload.name.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "\"", with: "\\\"")
        return Reply(
            200,
            [("Content-Type", "application/json"), ("X-Goog-Stored-Content-Length", "\(offset)")],
            body: "{\"kind\":\"storage#object\",\"name\":\"\(name)\",\"size\":\"\(offset)\"}"
        )
    }
}

/// `bytes a-b/total`, `bytes a-b/*`, `bytes */total` or `bytes */*`.
private struct ContentRange {
    var bytes: ClosedRange<Int64>?
    var total: Int64?

    init?(_ text: String) {
        guard text.hasPrefix("bytes ") else { return nil }
        let halves = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        if halves[1] != "*" {
            guard let total = decimal(halves[1]) else { return nil }
            self.total = total
        }
        guard halves[0] != "*" else { return }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false).map { decimal($0) }
        guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last, last < total ?? .max else {
            return nil
        }
        bytes = first...last
    }
}
