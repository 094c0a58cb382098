import Foundation

extension ResumableDraftServer {
    func create(_ turn: Turn, _ dialect: DraftDialect, isComplete: Bool, at site: Site) throws -> Reply {
        try turn.requireFraming()
        guard turn.request.header("Upload-Offset") == nil else { throw Reply.refusal(400, "Upload-Offset at creation") }
        let length = dialect.length(turn.request)
        try checkLength(length, from: 0, turn, dialect, isComplete: isComplete)
        try checkLimits(length: length, from: 0, turn, dialect, isComplete: isComplete)
        let id = store.create(
            turn.request.path,
            for: turn.request,
            length: length ?? (isComplete ? turn.contentLength : nil),
            id: { "r\($0)" }
        )
        turn.id = id
        let location = "\(site.resources)/\(id)"
        try tellLocation(location, turn, dialect)
        return try turn.holding(id, whenBusy: whenBusy) { hold in
            var reply = try store(turn, hold, dialect, from: 0, isComplete: isComplete)
            if store.peek(id)?.isComplete != true {
                reply.status = 201
                reply.add("Location", turn.script.location(for: location))
                describe(dialect, in: &reply)
            }
            return reply
        }
    }

    func append(_ turn: Turn, _ hold: Turn.Hold, _ dialect: DraftDialect) throws -> Reply {
        let upload = try find(hold.id)
        try turn.requireFraming()
        if dialect.hasPartialType, turn.request.header("Content-Type")?.lowercased() != "application/partial-upload" {
            throw Reply.refusal(415, "not application/partial-upload")
        }
        guard let isComplete = dialect.completeness(turn.request) else {
            throw Reply.refusal(400, "no \(dialect.completeness(true).0)")
        }
        guard let offset = structuredInteger(turn.request.headers("Upload-Offset")) else {
            throw Reply.refusal(400, "no Upload-Offset")
        }
        guard offset == upload.offset else {
            throw dialect.problem(
                409,
                "mismatching-upload-offset",
                ",\"expected-offset\":\(upload.offset),\"provided-offset\":\(offset)",
                headers: [("Upload-Offset", "\(turn.shownOffset(upload.id))"), dialect.completeness(upload.isComplete)]
            )
        }
        guard !upload.isComplete else { throw dialect.problem(400, "completed-upload") }
        let told = dialect.length(turn.request)
        if let told, let length = upload.length, told != length {
            throw dialect.problem(400, "inconsistent-upload-length")
        }
        let length = upload.length ?? told
        try checkLength(length, from: offset, turn, dialect, isComplete: isComplete)
        try checkLimits(length: length, from: offset, turn, dialect, isComplete: isComplete)
        if upload.length == nil, let told { store.setLength(upload.id, told) }
        return try store(turn, hold, dialect, from: offset, isComplete: isComplete)
    }

    /// Stores the body, and answers as it is right for a PATCH.
    private func store(
        _ turn: Turn,
        _ hold: Turn.Hold,
        _ dialect: DraftDialect,
        from start: Int64,
        isComplete: Bool
    ) throws -> Reply {
        let room = (store.peek(hold.id)?.length).map { $0 - start }
        try receive(turn, hold, dialect, from: start, room: room)
        let end = store.peek(hold.id)?.offset ?? 0
        let isWhole = end - start == turn.exchange.bodyByteCount
        if isComplete, isWhole {
            guard room == nil || room == end - start else { throw dialect.problem(400, "inconsistent-upload-length") }
            store.setLength(hold.id, end)
            store.complete(hold.id)
        }
        turn.settle(hold.id)
        let isDone = store.peek(hold.id)?.isComplete == true
        var reply = Reply(isDone ? completionStatus : 204, [dialect.completeness(isDone)])
        // Newer versions have no place for it, but there is no other way to say that less was stored than was sent.
        if dialect.repliesWithOffset || !isWhole || turn.script.truncation != nil || turn.script.claimedOffset != nil {
            reply.add("Upload-Offset", "\(turn.shownOffset(hold.id))")
        }
        return reply
    }

    private func receive(
        _ turn: Turn,
        _ hold: Turn.Hold,
        _ dialect: DraftDialect,
        from start: Int64,
        room: Int64?
    ) throws {
        var due = interimOffsetInterval ?? .max
        let tellsOffset = dialect.isAgreed && interimOffsetInterval != nil
        do {
            try turn.receive(into: hold, room: room) { kept in
                guard tellsOffset, kept >= due, let interval = interimOffsetInterval else { return }
                due = (kept / interval + 1) * interval
                let headers = [("Upload-Offset", "\(start + kept)"), (DraftDialect.field, "\(dialect.version)")]
                try turn.exchange.interim(104, headers: headers)
            }
        } catch let refusal as Reply where refusal.status == 413 {
            throw dialect.problem(400, "inconsistent-upload-length")
        }
    }

    private func tellLocation(_ location: String, _ turn: Turn, _ dialect: DraftDialect) throws {
        guard tellsLocation, dialect.isAgreed else { return }
        var interim = Reply(104)
        interim.add("Location", turn.script.location(for: location, interim: true))
        interim.add(DraftDialect.field, "\(dialect.version)")
        describe(dialect, in: &interim)
        try turn.exchange.interim(104, headers: interim.headers)
    }

    // MARK: Checks

    private func checkLength(
        _ length: Int64?,
        from start: Int64,
        _ turn: Turn,
        _ dialect: DraftDialect,
        isComplete: Bool
    ) throws {
        guard let length, let count = turn.contentLength else { return }
        let fits = isComplete ? start + count == length : start + count <= length
        guard fits else { throw dialect.problem(400, "inconsistent-upload-length") }
    }

    private func checkLimits(
        length: Int64?,
        from start: Int64,
        _ turn: Turn,
        _ dialect: DraftDialect,
        isComplete: Bool
    ) throws {
        guard dialect.hasLengthAndLimits else { return }
        let count = turn.contentLength ?? 0
        let size = length ?? (start + count)
        if let limit = limits.maximumSize, size > limit { throw Reply.refusal(413, "above max-size \(limit)") }
        if let limit = limits.minimumSize, size < limit, isComplete || length != nil {
            throw Reply.refusal(400, "below min-size \(limit)")
        }
        if let limit = limits.maximumAppendSize, count > limit {
            throw Reply.refusal(413, "above max-append-size \(limit)")
        }
        let isExempt = isComplete || start == 0 && count == 0
        if let limit = limits.minimumAppendSize, count < limit, !isExempt {
            throw Reply.refusal(400, "below min-append-size \(limit)")
        }
    }
}
