import Foundation

extension Exchange {
    /// Reads the body to its end.
    ///
    /// - Parameters:
    ///   - keeping: Whether to collect what is read in the request's `body`.
    ///   - digesting: Whether to compute the request's `digest`; all reads of the body have to ask for it.
    ///   - bytesPerSecond: The rate to read at, in small pieces. Once the peer has shut down its side the rest, which
    ///     has arrived already, is read without delay.
    ///   - each: Gets the decoded bytes as they come; they are valid during the call only.
    /// - Throws: ``LoopbackError/peerClosed`` when the peer goes away before the end.
    public func readBody(
        keeping: Bool = false,
        digesting: Bool = false,
        bytesPerSecond: Int? = nil,
        _ each: ((UnsafeRawBufferPointer) throws -> Void)? = nil
    ) throws {
        // A body of more than Int.max bytes takes more than one round.
        repeat {
            _ = try readBody(
                upTo: .max,
                keeping: keeping,
                digesting: digesting,
                bytesPerSecond: bytesPerSecond,
                each
            )
        } while !decoder.isComplete
    }

    /// Reads `count` further bytes of the body, or fewer if it ends before, with the options of
    /// ``readBody(keeping:digesting:bytesPerSecond:_:)``.
    ///
    /// - Returns: How many bytes were read, 0 at the end.
    public func readBody(
        upTo count: Int,
        keeping: Bool = false,
        digesting: Bool = false,
        bytesPerSecond: Int? = nil,
        _ each: ((UnsafeRawBufferPointer) throws -> Void)? = nil
    ) throws -> Int {
        // A loop over small reads has to end, too, though the peer sends so fast that none of them waits.
        guard !connection.state.isStopped else { throw LoopbackError.stopped }
        try continueIfExpected()
        if keeping, kept == nil { kept = Data() }
        if digesting { wantsDigest = true }
        defer { publish() }
        var pace = bytesPerSecond.map(Pace.init)
        var total = 0
        while total < count {
            let limit = min(count - total, pace?.pieceSize ?? .max)
            let taken = try takePiece(atMost: limit, keeping: keeping, digesting: digesting, each)
            guard taken > 0 else { break }
            total += taken
            if unpublishedByteCount >= 64 << 10 || pace != nil {
                guard publish() else { throw LoopbackError.stopped }
            }
            if let due = pace?.due(after: total), try connection.block(for: .hangUp, until: due) { pace = nil }
        }
        return total
    }

    /// Reads what of the body has arrived, at most `limit` bytes, with the options of
    /// ``readBody(keeping:digesting:bytesPerSecond:_:)``.
    ///
    /// - Parameter whileWaiting: Is called now and then as long as nothing arrives.
    /// - Returns: How many bytes were read, 0 at the end.
    func readPiece(
        atMost limit: Int,
        keeping: Bool,
        digesting: Bool,
        whileWaiting: () throws -> Void,
        _ each: ((UnsafeRawBufferPointer) throws -> Void)?
    ) throws -> Int {
        try continueIfExpected()
        if keeping, kept == nil { kept = Data() }
        if digesting { wantsDigest = true }
        while !decoder.isComplete, connection.available.isEmpty {
            if try connection.block(for: .reading, until: .now.advanced(by: .milliseconds(20))) { break }
            publishIfNeeded()
            try whileWaiting()
        }
        let taken = try takePiece(atMost: limit, keeping: keeping, digesting: digesting, each)
        if unpublishedByteCount >= 64 << 10 || decoder.isComplete {
            guard publish() else { throw LoopbackError.stopped }
        }
        return taken
    }

    private func takePiece(
        atMost limit: Int,
        keeping: Bool,
        digesting: Bool,
        _ each: ((UnsafeRawBufferPointer) throws -> Void)?
    ) throws -> Int {
        let wantsBytes = keeping || digesting || each != nil
        let skipped = wantsBytes ? 0 : try skipPiece(atMost: limit)
        let piece = skipped > 0 ? UnsafeRawBufferPointer(start: nil, count: 0) : try nextPiece(atMost: limit)
        guard skipped + piece.count > 0 else { return 0 }
        if keeping { kept?.append(contentsOf: piece) }
        if digesting {
            digest.update(piece)
            digestedByteCount += Int64(piece.count)
        }
        try each?(piece)
        return skipped + piece.count
    }

    private func continueIfExpected() throws {
        guard !hasContinued, !ignoresExpect, !hasAnswered, !head.isVersion10, !decoder.isComplete,
            head.has("Expect", listing: "100-continue")
        else { return }
        try interim(100)
    }

    /// Drops the next bytes of the body, where that can be done without looking at them.
    ///
    /// - Returns: how many; 0 where it cannot be done, or at the end.
    private func skipPiece(atMost limit: Int) throws -> Int {
        guard decoder.hasKnownLength, connection.available.isEmpty else { return 0 }
        let count = try connection.skip(limit: min(decoder.readLimit, limit), beforeWaiting: publishIfNeeded)
        guard count > 0 else { throw LoopbackError.peerClosed }
        decoder.skip(count)
        didRead(framing: 0, body: count)
        return count
    }

    private func publishIfNeeded() {
        if unpublishedByteCount > 0 { publish() }
    }

    private func didRead(framing: Int, body: Int) {
        rawBodyByteCount += Int64(framing + body)
        bodyByteCount += Int64(body)
        unpublishedByteCount += framing + body
    }

    /// The next decoded bytes, valid until the next call; none at the end of the body.
    private func nextPiece(atMost limit: Int) throws -> UnsafeRawBufferPointer {
        while true {
            let input = connection.available
            let (framing, body) = try decoder.take(from: input, atMost: limit)
            if framing + body > 0 {
                connection.consume(framing + body)
                didRead(framing: framing, body: body)
            }
            if body > 0 { return UnsafeRawBufferPointer(rebasing: input[framing..<(framing + body)]) }
            if decoder.isComplete { return UnsafeRawBufferPointer(start: nil, count: 0) }
            let count = try connection.fill(limit: min(decoder.readLimit, limit), beforeWaiting: publishIfNeeded)
            guard count > 0 else { throw LoopbackError.peerClosed }
        }
    }
}

/// Spreads reading over time.
private struct Pace {
    private let start = ContinuousClock.now
    private let rate: Int
    let pieceSize: Int

    init(bytesPerSecond: Int) {
        rate = max(1, bytesPerSecond)
        pieceSize = min(64 << 10, max(1, rate / 50))
    }

    /// When `count` bytes should have been read, nil if that is past.
    func due(after count: Int) -> ContinuousClock.Instant? {
        let due = start.advanced(by: .seconds(Double(count) / Double(rate)))
        return due > .now ? due : nil
    }
}
