import Foundation

extension Turn {
    /// The right to add to an upload.
    struct Hold {
        let id: String
        let token: Int
    }

    /// Does `body` while no other request for the upload is served.
    func holding<Result>(_ id: String, whenBusy rule: BusyRule, _ body: (Hold) throws -> Result) throws -> Result {
        let token = try acquire(id, rule)
        defer { store.release(id, token) }
        return try body(Hold(id: id, token: token))
    }

    private func acquire(_ id: String, _ rule: BusyRule) throws -> Int {
        let limit =
            switch rule {
            case .refuse: Duration.zero
            case .wait(let limit): limit
            case .interrupt: Duration.seconds(10)
            }
        let deadline = ContinuousClock.now.advanced(by: limit)
        while true {
            if let token = store.hold(id) { return token }
            guard deadline > .now else { throw Reply.refusal(423, "another request for the upload is served") }
            if case .interrupt = rule { store.interrupt(id) }
            try exchange.wait(.milliseconds(2))
        }
    }

    /// Adds the body to the upload as it arrives, as far as the script allows.
    ///
    /// - Parameters:
    ///   - room: How much may be added.
    ///   - each: Is told after each piece how much was added so far.
    /// - Throws: ``Cut`` when the script cuts the body off, a 413 when the body is longer than `room`, where that shows
    ///   only now; what was added stays.
    func receive(into hold: Hold, room: Int64? = nil, each: (Int64) throws -> Void = { _ in }) throws {
        let keep = min(script.cut?.after ?? .max, script.keepOnly ?? .max, room ?? .max)
        var kept: Int64 = 0
        while kept < keep {
            let count = try receivePiece(into: hold, atMost: keep - kept)
            guard count > 0 else { break }
            kept += Int64(count)
            try each(kept)
        }
        if let cut = script.cut { throw cut }
        if script.keepOnly != nil { return try exchange.readBody() }
        guard try exchange.readBody(upTo: 1) == 0 else { throw Reply.refusal(413, "more than there is room for") }
    }

    private func receivePiece(into hold: Hold, atMost limit: Int64) throws -> Int {
        let start = exchange.bodyByteCount
        var isWanted = true
        let store = self.store
        let append: (UnsafeRawBufferPointer) -> Void = { bytes in
            isWanted = store.append(hold.id, hold.token, count: bytes.count, bytes)
        }
        let count = try exchange.readPiece(
            atMost: Int(clamping: limit),
            keeping: store.storage == .data,
            digesting: store.storage == .digest,
            whileWaiting: {
                guard store.isWanted(hold.id, hold.token) else { throw Cut(after: start, .reset) }
            },
            store.storage == .count ? nil : append
        )
        if store.storage == .count, count > 0 {
            isWanted = store.append(hold.id, hold.token, count: count, nil)
        }
        guard isWanted else { throw Cut(after: start, .reset) }
        return count
    }

    /// Lets the store go backwards if the script says so.
    func settle(_ id: String) {
        if let offset = script.truncation { store.truncate(id, to: offset) }
    }
}
