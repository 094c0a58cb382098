import Foundation

extension TusServer {
    func create(_ turn: Turn, at site: Site) throws -> Reply {
        try turn.requireFraming()
        try checkMetadata(turn)
        if let concat = try turn.single("Upload-Concat") {
            guard extensions.contains(.concatenation) else { throw Reply.refusal(400, "no concatenation") }
            if concat.hasPrefix("final;") { return try join(turn, concat.dropFirst(6), at: site) }
            guard concat == "partial" else { throw Reply.refusal(400, "bad Upload-Concat") }
        }
        let length = try length(turn)
        let takesBody = try takesBody(turn, length)
        let id = make(turn, at: site, length: length)
        var reply = Reply(201)
        reply.add("Location", turn.script.location(for: location(turn, id, at: site)))
        if takesBody {
            do {
                try turn.holding(id, whenBusy: whenBusy) { hold in
                    try turn.receive(into: hold, room: length ?? maximumSize)
                    turn.settle(id)
                }
            } catch let refusal as Reply {
                store.forget(id)
                throw refusal
            }
        }
        describe(turn, id, in: &reply, offset: takesBody)
        return reply
    }

    func isFinal(_ upload: UploadStore.Upload) -> Bool {
        upload.field("Upload-Concat")?.hasPrefix("final;") == true
    }

    private func make(_ turn: Turn, at site: Site, length: Int64?) -> String {
        let id = store.create(
            site.path,
            for: turn.request,
            length: length,
            completesByLength: true,
            id: { "u\($0)" }
        )
        turn.id = id
        return id
    }

    private func location(
        _ turn: Turn,
        _ id: String,
        at site: Site,
        style: LocationStyle? = nil
    ) -> String {
        switch style ?? locationStyle {
        case .path: "\(site.path)/\(id)"
        case .relative: "\(site.path.split(separator: "/").last ?? "")/\(id)"
        case .absolute: "\(turn.origin(site.base))\(site.path)/\(id)"
        }
    }

    // MARK: Checks

    /// The length that the request declares, nil if it will be told later.
    private func length(_ turn: Turn) throws -> Int64? {
        let length = try turn.number("Upload-Length")
        switch (length, try turn.single("Upload-Defer-Length")) {
        case (let length?, nil):
            try checkSize(length)
            return length
        case (nil, "1") where extensions.contains(.deferLength):
            return nil
        default:
            throw Reply.refusal(400, "neither Upload-Length nor Upload-Defer-Length: 1, both, or not supported")
        }
    }

    /// Whether the body belongs to the upload.
    private func takesBody(_ turn: Turn, _ length: Int64?) throws -> Bool {
        let isEmpty = turn.contentLength == 0
        guard extensions.contains(.withUpload) else {
            guard isEmpty else { throw Reply.refusal(400, "a body, without creation-with-upload") }
            return false
        }
        let type = try turn.single("Content-Type")?.lowercased()
        if isEmpty { return type == Self.contentType }
        guard type == Self.contentType else { throw Reply.refusal(415, "not \(Self.contentType)") }
        if let limit = length ?? maximumSize, let count = turn.contentLength, count > limit {
            throw Reply.refusal(413, "more than the \(limit) bytes of the upload")
        }
        return true
    }

    private func checkMetadata(_ turn: Turn) throws {
        guard let text = try turn.single("Upload-Metadata") else { return }
        var keys: Set<Substring> = []
        for pair in text.split(separator: ",", omittingEmptySubsequences: false) {
            let words = pair.split(separator: " ", omittingEmptySubsequences: false)
            guard let key = words.first, !key.isEmpty, words.count <= 2, key.allSatisfy(\.isASCII),
                keys.insert(key).inserted, Data(base64Encoded: String(words.dropFirst().first ?? "")) != nil
            else { throw Reply.refusal(400, "bad Upload-Metadata") }
        }
    }

    // MARK: Concatenation

    private func join(_ turn: Turn, _ list: Substring, at site: Site) throws -> Reply {
        guard turn.contentLength == 0 else { throw Reply.refusal(400, "a final upload has no body") }
        guard try turn.single("Upload-Length") == nil, try turn.single("Upload-Defer-Length") == nil else {
            throw Reply.refusal(400, "a final upload has no Upload-Length")
        }
        let urls = list.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        let parts = try urls.map { try part($0, turn, at: site) }
        let length = parts.reduce(0) { $0 + $1.offset }
        try checkSize(length)
        let id = make(turn, at: site, length: length)
        store.join(parts.map(\.id), into: id)
        var reply = Reply(201)
        reply.add("Location", turn.script.location(for: location(turn, id, at: site)))
        return reply
    }

    /// The complete partial upload with this URL, in any of the forms that it may have.
    private func part(_ url: String, _ turn: Turn, at site: Site) throws -> UploadStore.Upload {
        let id = String(url.split(separator: "/").last ?? "")
        let forms = [LocationStyle.path, .relative, .absolute].map { location(turn, id, at: site, style: $0) }
        guard forms.contains(url), let upload = store.peek(id), upload.field("Upload-Concat") == "partial" else {
            throw Reply.refusal(400, "no partial upload: \(url)")
        }
        guard upload.isComplete else { throw Reply.refusal(400, "not complete: \(url)") }
        return upload
    }
}
