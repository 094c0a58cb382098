import Foundation

/// A server of Amazon S3's PUT and multipart uploads with presigned URLs.
///
/// Nothing is stored of a PUT that breaks off. Every PUT of a part has its own ETag, also if the bytes are the same.
public final class S3Server: Sendable {
    /// What was uploaded: objects, multipart uploads, which have no bytes, and their parts. The `name` is the path.
    public let store: UploadStore
    let minimumPartSize: Int64
    let maximumPartSize: Int64
    let pageSize: Int
    let completesSlowly: Bool
    private let signature: String?
    private let expired = Locked<[String]>([])
    private let desk: UploadDesk

    /// - Parameters:
    ///   - store: Where uploads are stored.
    ///   - minimumPartSize: What all parts but the last have at least.
    ///   - maximumPartSize: What a part, or a single PUT, has at most.
    ///   - pageSize: How many parts a list has at most.
    ///   - signature: The value that `X-Amz-Signature` has to have in every URL, or it gets a 403.
    ///   - completesSlowly: Whether a multipart upload's completion is answered with chunks and leading white space, so
    ///     that it may fail after the status was sent.
    ///   - script: What goes wrong.
    public init(
        store: UploadStore = UploadStore(),
        minimumPartSize: Int64 = 5 << 20,
        maximumPartSize: Int64 = 5 << 30,
        pageSize: Int = 1000,
        signature: String? = nil,
        completesSlowly: Bool = false,
        script: @escaping UploadScript = { _ in nil }
    ) {
        self.store = store
        self.minimumPartSize = minimumPartSize
        self.maximumPartSize = maximumPartSize
        self.pageSize = pageSize
        self.signature = signature
        self.completesSlowly = completesSlowly
        desk = UploadDesk(store: store, script: script)
    }

    /// Serves objects below `bucket`.
    public func install(on server: LoopbackServer, bucket: String = "/bucket") {
        server.route(nil, bucket + "/*") { [self] exchange in
            let request = exchange.request
            let id = queryItems(of: request.target)["uploadId"]
            try desk.serve(exchange, method: request.method, upload: id) { turn in try answer(turn) }
        }
    }

    /// From now on URLs that contain `text` have expired: they get a 403.
    public func expire(_ text: String) {
        expired.withLock { $0.append(text) }
    }

    /// The newest object at this path.
    public func object(_ path: String) -> UploadStore.Upload? {
        newest(path).flatMap { store[$0.id] }
    }

    private func newest(_ path: String) -> UploadStore.Upload? {
        store.complete(withPrefix: "object-").last { $0.name == path }
    }

    private func answer(_ turn: Turn) throws -> Reply {
        let items = queryItems(of: turn.request.target)
        try checkAccess(turn, items)
        let upload = items["uploadId"]
        switch (turn.request.method, upload) {
        case ("PUT", nil): return try putObject(turn)
        case ("PUT", let upload?): return try putPart(turn, items, of: upload)
        case ("POST", nil) where items["uploads"] != nil: return try initiate(turn)
        case ("POST", let upload?): return try complete(turn, find(upload, turn))
        case ("GET", let upload?): return try list(turn, items, of: find(upload, turn))
        case ("DELETE", let upload?): return try abort(turn, find(upload, turn))
        case ("HEAD", nil): return try describe(turn)
        default: throw Reply.s3(405, "MethodNotAllowed")
        }
    }

    private func checkAccess(_ turn: Turn, _ items: [String: String]) throws {
        // What a presigned URL says already must not be said in another way.
        guard turn.request.header("Authorization") == nil else { throw Reply.s3(400, "InvalidArgument") }
        if let signature, items["X-Amz-Signature"] != signature { throw Reply.s3(403, "SignatureDoesNotMatch") }
        if expired.withLock({ $0.contains { turn.request.target.contains($0) } }) {
            throw Reply.s3(403, "AccessDenied", "Request has expired")
        }
    }

    // MARK: Objects

    private func putObject(_ turn: Turn) throws -> Reply {
        let id = try receive(turn, id: { "object-\($0)" })
        return Reply(200, [("ETag", etag(id))])
    }

    private func describe(_ turn: Turn) throws -> Reply {
        guard let object = newest(turn.request.path) else { throw Reply.s3(404, "NoSuchKey") }
        return Reply(200, [("ETag", etag(object.id)), ("Content-Length", "\(object.offset)")])
    }

    /// Stores the body as a new upload, wholly or not at all.
    private func receive(_ turn: Turn, id: (Int) -> String) throws -> String {
        if turn.isChunked { throw Reply.s3(501, "NotImplemented", "chunked") }
        guard turn.request.header("Content-Length") != nil, let length = turn.contentLength else {
            throw Reply.s3(411, "MissingContentLength")
        }
        guard length <= maximumPartSize else { throw Reply.s3(400, "EntityTooLarge") }
        let id = store.create(turn.request.path, for: turn.request, length: length, id: id)
        do {
            try turn.holding(id, whenBusy: .refuse) { try turn.receive(into: $0) }
            guard store.peek(id)?.offset == length else { throw Reply.s3(400, "IncompleteBody") }
        } catch {
            store.forget(id)
            throw error
        }
        store.complete(id)
        return id
    }

    // MARK: Multipart uploads

    private func initiate(_ turn: Turn) throws -> Reply {
        guard turn.contentLength == 0 else { throw Reply.s3(400, "InvalidRequest", "a body") }
        let path = turn.request.path
        let id = store.create(path, for: turn.request, id: { "multipart-\($0)" })
        turn.id = id
        return .xml("InitiateMultipartUploadResult", "<Key>\(escaped(path))</Key><UploadId>\(id)</UploadId>")
    }

    private func find(_ id: String, _ turn: Turn) throws -> UploadStore.Upload {
        guard let upload = store.peek(id), id.hasPrefix("multipart-"), !id.contains("."), !upload.isComplete,
            upload.name == turn.request.path
        else { throw Reply.s3(404, "NoSuchUpload") }
        return upload
    }

    private func putPart(_ turn: Turn, _ items: [String: String], of id: String) throws -> Reply {
        let upload = try find(id, turn)
        guard let number = decimal(items["partNumber"] ?? ""), (1...10_000).contains(number) else {
            throw Reply.s3(400, "InvalidArgument", "Part number must be an integer between 1 and 10000")
        }
        let part = try receive(turn, id: { "\(upload.id).\(number).\($0)" })
        guard store.peek(upload.id) != nil else { throw Reply.s3(404, "NoSuchUpload") }
        return Reply(200, [("ETag", etag(part))])
    }

    private func abort(_ turn: Turn, _ upload: UploadStore.Upload) throws -> Reply {
        forget(upload)
        return Reply(204)
    }

    func forget(_ upload: UploadStore.Upload) {
        for part in store.complete(withPrefix: upload.id + ".") { store.forget(part.id) }
        store.forget(upload.id)
    }

    /// The newest part of each number.
    func parts(of upload: UploadStore.Upload) -> [Int64: UploadStore.Upload] {
        var parts: [Int64: UploadStore.Upload] = [:]
        for part in store.complete(withPrefix: upload.id + ".") {
            if let number = decimal(part.id.split(separator: ".")[1]) { parts[number] = part }
        }
        return parts
    }

    /// In quotes, which are part of it.
    func etag(_ id: String) -> String {
        "\"\(String(BodyDigest.of(Data(id.utf8)), radix: 16))\""
    }
}
