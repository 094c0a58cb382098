import Foundation

/// A server of the IETF draft "Resumable Uploads for HTTP", in its interop versions 3, 5, 6, 7 and 8.
///
/// A request without `Upload-Draft-Interop-Version` is served by the rules of version 8, without 104. A PATCH that
/// breaks off has stored what has arrived. An upload is complete by a request that says so, never by its length.
public final class ResumableDraftServer: Sendable {
    /// What `Upload-Limit` announces, and is insisted on.
    public struct Limits: Sendable {
        /// For the whole upload.
        public var minimumSize, maximumSize: Int64?
        /// For one request.
        public var minimumAppendSize, maximumAppendSize: Int64?
        /// In seconds.
        public var maximumAge: Int64?

        /// The limits, nil for none.
        public init(
            minimumSize: Int64? = nil,
            maximumSize: Int64? = nil,
            minimumAppendSize: Int64? = nil,
            maximumAppendSize: Int64? = nil,
            maximumAge: Int64? = nil
        ) {
            self.minimumSize = minimumSize
            self.maximumSize = maximumSize
            self.minimumAppendSize = minimumAppendSize
            self.maximumAppendSize = maximumAppendSize
            self.maximumAge = maximumAge
        }
    }

    struct Site: Sendable {
        let resources: String
    }

    /// What was uploaded. The `name` of an upload is the path it was created at.
    public let store: UploadStore
    let versions: Set<Int>
    let isSupported: Bool
    let limits: Limits
    let tellsLocation: Bool
    let interimOffsetInterval: Int64?
    let completionStatus: Int
    let token: String?
    let goneStatus: Int
    let whenBusy: BusyRule
    private let desk: UploadDesk

    /// - Parameters:
    ///   - store: Where uploads are stored.
    ///   - versions: The interop versions accepted of 3, 5, 6, 7 and 8; others get a 400.
    ///   - isSupported: False for a server that knows nothing of all this: it ignores the fields and takes every
    ///     request for a whole upload.
    ///   - limits: What is announced and insisted on, from version 6 on.
    ///   - tellsLocation: Whether a 104 tells the upload's location.
    ///   - interimOffsetInterval: After how many bytes another 104 tells the offset.
    ///   - completionStatus: The status for a request that completes an upload.
    ///   - requiresToken: The token that `Authorization: Bearer` has to carry in every request, or it gets a 401.
    ///   - goneStatus: The status for uploads that there were.
    ///   - whenBusy: What happens while another request for the same upload is served.
    ///   - script: What goes wrong.
    public init(
        store: UploadStore = UploadStore(),
        versions: Set<Int> = [3, 5, 6, 7, 8],
        isSupported: Bool = true,
        limits: Limits = Limits(),
        tellsLocation: Bool = true,
        interimOffsetInterval: Int64? = nil,
        completionStatus: Int = 200,
        requiresToken: String? = nil,
        goneStatus: Int = 404,
        whenBusy: BusyRule = .interrupt,
        script: @escaping UploadScript = { _ in nil }
    ) {
        self.store = store
        self.versions = versions
        self.isSupported = isSupported
        self.limits = limits
        self.tellsLocation = tellsLocation
        self.interimOffsetInterval = interimOffsetInterval
        self.completionStatus = completionStatus
        token = requiresToken
        self.goneStatus = goneStatus
        self.whenBusy = whenBusy
        desk = UploadDesk(store: store, script: script)
    }

    /// Takes uploads at `path`, with any method, and has the upload resources below `resources`.
    public func install(on server: LoopbackServer, path: String = "/upload", resources: String = "/resumable") {
        let site = Site(resources: resources)
        server.route(nil, path) { [self] exchange in
            try desk.serve(exchange, method: exchange.request.method) { turn in try target(turn, at: site) }
        }
        guard isSupported else { return }
        server.route(nil, resources + "/*") { [self] exchange in
            let request = exchange.request
            let id = String(request.path.dropFirst(resources.count + 1))
            try desk.serve(exchange, method: request.method, upload: id) { turn in try resource(turn, id) }
        }
    }

    private func dialect(_ turn: Turn) throws -> DraftDialect {
        let values = turn.request.headers(DraftDialect.field)
        if values.isEmpty { return DraftDialect(version: DraftDialect.newest, isAgreed: false) }
        guard let number = structuredInteger(values), versions.contains(Int(number)) else {
            throw Reply.refusal(400, "no such interop version")
        }
        return DraftDialect(version: Int(number), isAgreed: true)
    }

    // MARK: The target

    private func target(_ turn: Turn, at site: Site) throws -> Reply {
        try turn.require(token: token)
        guard isSupported else { return try plain(turn) }
        let dialect = try dialect(turn)
        guard let isComplete = dialect.completeness(turn.request) else {
            return turn.request.method == "OPTIONS" ? options(dialect) : try plain(turn)
        }
        return try create(turn, dialect, isComplete: isComplete, at: site)
    }

    private func options(_ dialect: DraftDialect) -> Reply {
        var reply = Reply(204)
        if isSupported { describe(dialect, in: &reply) }
        return reply
    }

    /// An upload as to any server, of which nothing is kept if it breaks off.
    private func plain(_ turn: Turn) throws -> Reply {
        if ["GET", "HEAD", "OPTIONS", "DELETE"].contains(turn.request.method) { return Reply(204) }
        try turn.requireFraming()
        let id = store.create(turn.request.path, for: turn.request, id: { "p\($0)" })
        do {
            try turn.holding(id, whenBusy: whenBusy) { try turn.receive(into: $0) }
        } catch {
            store.forget(id)
            throw error
        }
        store.complete(id)
        return Reply(completionStatus)
    }

    // MARK: One upload

    func find(_ id: String) throws -> UploadStore.Upload {
        if let upload = store.peek(id) { return upload }
        throw Reply.refusal(store[id] == nil ? 404 : goneStatus, "no such upload")
    }

    private func resource(_ turn: Turn, _ id: String) throws -> Reply {
        try turn.require(token: token)
        let dialect = try dialect(turn)
        _ = try find(id)
        switch turn.request.method {
        case "HEAD", "GET":
            try refuseState(in: turn.request)
            return try turn.holding(id, whenBusy: whenBusy) { _ in try tell(turn, id, dialect) }
        case "DELETE":
            try refuseState(in: turn.request)
            return try turn.holding(id, whenBusy: whenBusy) { _ in
                store.forget(id)
                return Reply(204)
            }
        case "PATCH":
            return try turn.holding(id, whenBusy: whenBusy) { try append(turn, $0, dialect) }
        case "OPTIONS":
            return options(dialect)
        default:
            throw Reply.refusal(405, "no such method here")
        }
    }

    private func refuseState(in request: ReceivedRequest) throws {
        for name in ["Upload-Offset", "Upload-Complete", "Upload-Incomplete", "Upload-Length"]
        where request.header(name) != nil {
            throw Reply.refusal(400, "\(name) in a \(request.method)")
        }
    }

    private func tell(_ turn: Turn, _ id: String, _ dialect: DraftDialect) throws -> Reply {
        turn.settle(id)
        let upload = try find(id)
        var reply = Reply(204, [("Cache-Control", "no-store"), ("Upload-Offset", "\(turn.shownOffset(id))")])
        reply.headers.append(dialect.completeness(upload.isComplete))
        if dialect.hasLengthAndLimits { reply.add("Upload-Length", upload.length.map(String.init)) }
        describe(dialect, in: &reply)
        return reply
    }

    /// Adds the limits.
    func describe(_ dialect: DraftDialect, in reply: inout Reply) {
        if dialect.hasLengthAndLimits { reply.add("Upload-Limit", limits.text(dialect)) }
    }
}

extension ResumableDraftServer.Limits {
    fileprivate func text(_ dialect: DraftDialect) -> String {
        let items = [
            ("min-size", minimumSize), ("max-size", maximumSize), ("min-append-size", minimumAppendSize),
            ("max-append-size", maximumAppendSize), (dialect.ageKey, maximumAge),
        ]
        let text = items.compactMap { name, value in value.map { "\(name)=\($0)" } }.joined(separator: ", ")
        return text.isEmpty ? "min-size=0" : text
    }
}
