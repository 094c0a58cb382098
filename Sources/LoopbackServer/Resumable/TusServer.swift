public import Foundation

/// A server of the tus protocol, version 1.0.0, that is strict with its clients.
///
/// It serves core, `OPTIONS`, and the extensions it is given; checksums are not among them. What it refuses it leaves
/// as it was. A PATCH that breaks off has stored what has arrived.
public final class TusServer: Sendable {
    /// A protocol extension.
    public enum Extension: String, Sendable, CaseIterable {
        /// Uploads are created by POST.
        case creation
        /// Their length may be told later.
        case deferLength = "creation-defer-length"
        /// The creating request may have a body.
        case withUpload = "creation-with-upload"
        /// Uploads expire.
        case expiration
        /// Uploads can be deleted.
        case termination
        /// Uploads can be joined.
        case concatenation
    }

    /// How `Location` names a new upload.
    public enum LocationStyle: Sendable {
        /// `/files/u1`
        case path
        /// `files/u1`, relative to the URL of the creation
        case relative
        /// `http://host:port/files/u1`
        case absolute
    }

    /// Where the server is installed.
    struct Site: Sendable {
        let path: String
        let base: String
    }

    static let version = "1.0.0"
    static let contentType = "application/offset+octet-stream"

    /// What was uploaded. The `name` of an upload is the path it was created at.
    public let store: UploadStore
    let extensions: Set<Extension>
    let maximumSize: Int64?
    let token: String?
    let locationStyle: LocationStyle
    let lifetime: TimeInterval?
    let goneStatus: Int
    let whenBusy: BusyRule
    private let desk: UploadDesk

    /// - Parameters:
    ///   - store: Where uploads are stored.
    ///   - extensions: What is offered, and refused otherwise.
    ///   - maximumSize: The length that no upload may exceed.
    ///   - requiresToken: The token that `Authorization: Bearer` has to carry in every request, or it gets a 401.
    ///   - locationStyle: How new uploads are named.
    ///   - lifetime: After how many seconds without addition an unfinished upload is gone. With the extension
    ///     `expiration` it is announced.
    ///   - goneStatus: The status for uploads that there were.
    ///   - whenBusy: What happens while another request for the same upload is served.
    ///   - script: What goes wrong.
    public init(
        store: UploadStore = UploadStore(),
        extensions: Set<Extension> = Set(Extension.allCases),
        maximumSize: Int64? = nil,
        requiresToken: String? = nil,
        locationStyle: LocationStyle = .path,
        lifetime: TimeInterval? = nil,
        goneStatus: Int = 404,
        whenBusy: BusyRule = .refuse,
        script: @escaping UploadScript = { _ in nil }
    ) {
        self.store = store
        self.extensions = extensions
        self.maximumSize = maximumSize
        token = requiresToken
        self.locationStyle = locationStyle
        self.lifetime = lifetime
        self.goneStatus = goneStatus
        self.whenBusy = whenBusy
        desk = UploadDesk(store: store, script: script)
    }

    /// Creates uploads at `path`, and has them below it.
    public func install(on server: LoopbackServer, path: String = "/files") {
        let site = Site(path: path, base: "http://127.0.0.1:\(server.port)")
        for pattern in [path, path + "/*"] {
            server.route(nil, pattern) { [self] exchange in try serve(exchange, at: site) }
        }
    }

    private func serve(_ exchange: Exchange, at site: Site) throws {
        let request = exchange.request
        let id = request.path == site.path ? nil : String(request.path.dropFirst(site.path.count + 1))
        let override = request.method == "POST" ? request.header("X-HTTP-Method-Override") : nil
        let method = override ?? request.method
        let common = method == "OPTIONS" ? [] : [("Tus-Resumable", Self.version)]
        try desk.serve(exchange, method: method, upload: id, common: common) { turn in
            try turn.require(token: token)
            if method == "OPTIONS" { return discovery }
            guard try turn.single("Tus-Resumable") == Self.version else {
                throw Reply.refusal(412, "no or another Tus-Resumable", [("Tus-Version", Self.version)])
            }
            return try answer(turn, method: method, id: id, at: site)
        }
    }

    private func answer(_ turn: Turn, method: String, id: String?, at site: Site) throws -> Reply {
        switch (method, id) {
        case ("POST", nil) where extensions.contains(.creation): return try create(turn, at: site)
        case ("HEAD", let id?): return try tell(turn, id)
        case ("PATCH", let id?): return try append(turn, id)
        case ("DELETE", let id?) where extensions.contains(.termination): return try terminate(turn, id)
        default: throw Reply.refusal(405, "no such method here")
        }
    }

    private var discovery: Reply {
        var reply = Reply(204, [("Tus-Version", Self.version)])
        let names = extensions.map(\.rawValue).sorted().joined(separator: ",")
        if !names.isEmpty { reply.add("Tus-Extension", names) }
        reply.add("Tus-Max-Size", maximumSize.map(String.init))
        return reply
    }

    // MARK: One upload

    func find(_ id: String) throws -> UploadStore.Upload {
        if let upload = store.peek(id), let lifetime, !upload.isComplete,
            upload.changed.addingTimeInterval(lifetime) <= Date()
        {
            store.forget(id)
        }
        if let upload = store.peek(id) { return upload }
        throw Reply.refusal(store[id] == nil ? 404 : goneStatus, "no such upload")
    }

    private func tell(_ turn: Turn, _ id: String) throws -> Reply {
        _ = try find(id)
        return try turn.holding(id, whenBusy: whenBusy) { _ in
            turn.settle(id)
            let upload = try find(id)
            var reply = Reply(200, [("Upload-Offset", "\(turn.shownOffset(id))"), ("Cache-Control", "no-store")])
            reply.add("Upload-Length", upload.length.map(String.init))
            if upload.length == nil { reply.add("Upload-Defer-Length", "1") }
            reply.add("Upload-Metadata", upload.field("Upload-Metadata"))
            reply.add("Upload-Concat", upload.field("Upload-Concat"))
            return reply
        }
    }

    private func terminate(_ turn: Turn, _ id: String) throws -> Reply {
        _ = try find(id)
        return try turn.holding(id, whenBusy: whenBusy) { _ in
            store.forget(id)
            return Reply(204)
        }
    }

    /// Adds `Upload-Offset` and, where that is announced, when the upload expires.
    func describe(_ turn: Turn, _ id: String, in reply: inout Reply, offset: Bool = true) {
        if offset { reply.add("Upload-Offset", "\(turn.shownOffset(id))") }
        guard extensions.contains(.expiration), let lifetime, let upload = store.peek(id), !upload.isComplete else {
            return
        }
        reply.add("Upload-Expires", httpDate(upload.changed.addingTimeInterval(lifetime)))
    }

    // MARK: PATCH

    private func append(_ turn: Turn, _ id: String) throws -> Reply {
        _ = try find(id)
        return try turn.holding(id, whenBusy: whenBusy) { hold in
            let upload = try find(id)
            if isFinal(upload) { throw Reply.refusal(403, "a final upload") }
            let room = try checkedRoom(turn, upload)
            try turn.receive(into: hold, room: room)
            turn.settle(id)
            var reply = Reply(204)
            describe(turn, id, in: &reply)
            return reply
        }
    }

    /// How many bytes the request may add; it is refused if it may add none of its own. Stores the length if the
    /// request tells it.
    private func checkedRoom(_ turn: Turn, _ upload: UploadStore.Upload) throws -> Int64? {
        try turn.requireFraming()
        guard try turn.single("Content-Type")?.lowercased() == Self.contentType else {
            throw Reply.refusal(415, "not \(Self.contentType)")
        }
        guard let offset = try turn.number("Upload-Offset") else { throw Reply.refusal(400, "no Upload-Offset") }
        guard offset == upload.offset else { throw Reply.refusal(409, "\(upload.offset) bytes are stored") }
        let told = try turn.number("Upload-Length")
        if let told { try check(length: told, of: upload) }
        let room = (upload.length ?? told ?? maximumSize).map { $0 - upload.offset }
        if let room, let length = turn.contentLength, length > room {
            throw Reply.refusal(413, "more than the \(room) bytes that are left")
        }
        if upload.length == nil, let told { store.setLength(upload.id, told) }
        return room
    }

    private func check(length: Int64, of upload: UploadStore.Upload) throws {
        guard upload.length == nil || upload.length == length else { throw Reply.refusal(400, "another Upload-Length") }
        guard length >= upload.offset else { throw Reply.refusal(400, "Upload-Length below what is stored") }
        try checkSize(length)
    }

    func checkSize(_ length: Int64) throws {
        if let maximumSize, length > maximumSize { throw Reply.refusal(413, "above \(maximumSize) bytes") }
    }
}
