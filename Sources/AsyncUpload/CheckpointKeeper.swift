import Foundation

/// Keeps the checkpoint of one upload. For one task at a time.
final class CheckpointKeeper: Sendable {
    private let store: any CheckpointStore
    /// `nil` for an upload that nobody else can go on with.
    private let identifier: String?
    private let blank: UploadCheckpoint
    private let saved = Locked<UploadCheckpoint?>(nil)
    /// Many parts make a large checkpoint, and each of them a new one. To keep them must not take longer than to send them.
    private let notBefore = Locked<ContinuousClock.Instant?>(nil)
    private static let pauseFactor = 20

    init(store: any CheckpointStore, _ resuming: ResumableProtocol, _ request: URLRequest, _ body: ResumableBody) {
        self.store = store
        identifier = resuming.checkpointIdentifier ?? Self.identifier(of: resuming.kind, request, body)
        blank = UploadCheckpoint(
            creationDate: Date(),
            protocolName: resuming.kind.name,
            target: Self.target(request.url),
            body: UploadCheckpoint.Body(
                length: body.length,
                contentType: request.value(forHTTPHeaderField: "Content-Type"),
                files: body.files.map(UploadCheckpoint.Body.File.init)
            ),
            state: ResumptionState()
        )
    }

    /// Whether the checkpoint outlives the upload.
    var isKept: Bool { identifier != nil }

    /// Takes the checkpoint for this upload alone.
    ///
    /// - Returns: where an earlier one has ended; or why there is no way on from there, if there is a checkpoint.
    func claim() async throws -> (state: ResumptionState?, reason: String?) {
        guard let identifier else { return (nil, nil) }
        try await keeping { try await self.store.claim(identifier) }
        do {
            guard let found = try await store.checkpoint(for: identifier) else { return (nil, nil) }
            if let reason = difference(to: found) { return (nil, reason) }
            saved.withLock { $0 = found }
            return (found.state, nil)
        } catch let error as CancellationError {
            await store.release(identifier)
            throw error
        } catch {
            return (nil, "the checkpoint cannot be read: \(error.localizedDescription)")
        }
    }

    private func difference(to found: UploadCheckpoint) -> String? {
        if found.version != blank.version { return "the checkpoint is of another version" }
        if let expiration = found.expirationDate, expiration <= blank.creationDate { return "the upload has expired" }
        if found.protocolName != blank.protocolName { return "the checkpoint is one of \(found.protocolName)" }
        if found.target != blank.target { return "the checkpoint is for \(found.target)" }
        if found.body.files != blank.body.files { return "the file has changed" }
        if found.body != blank.body { return "the body is another one" }
        return nil
    }

    /// Keeps what is needed to go on; does nothing where that has not changed.
    ///
    /// - Parameters:
    ///   - state: `nil` when there is nothing to go on with.
    ///   - isLast: whether nothing can wait. Otherwise a part that is there may be told of a little later.
    /// - Returns: when it is to be kept, if that can wait.
    @discardableResult
    func save(_ state: ResumptionState?, isLast: Bool = false) async throws -> ContinuousClock.Instant? {
        let old = saved.withLock { $0?.state }
        guard let identifier, state != old else { return nil }
        if let state, let old, !isLast, state.differsInParts(from: old), let notBefore = notBefore.withLock({ $0 }),
            notBefore > .now
        {
            return notBefore
        }
        let start = ContinuousClock.now
        defer { notBefore.withLock { $0 = .now + (.now - start) * Self.pauseFactor } }
        guard let state else {
            try await keeping { try await self.store.remove(identifier) }
            saved.withLock { $0 = nil }
            return nil
        }
        var checkpoint = saved.withLock { $0 } ?? blank
        checkpoint.state = state
        try await keeping { [checkpoint] in try await self.store.save(checkpoint, for: identifier) }
        saved.withLock { $0 = checkpoint }
        return nil
    }

    /// Lets go of the checkpoint.
    func release(removing: Bool) async {
        guard let identifier else { return }
        // Whether it is still there or not, nobody goes on with what has ended.
        if removing { try? await store.remove(identifier) }
        await store.release(identifier)
    }

    private func keeping(_ work: () async throws -> Void) async throws {
        do {
            try await work()
        } catch let error as UploadError {
            throw error
        } catch let error as CancellationError {
            throw error
        } catch {
            throw UploadError(.checkpointFailed, detail: error.localizedDescription, underlying: error)
        }
    }

    // MARK: Names

    /// Only a file can be known again.
    private static func identifier(
        of kind: ResumableProtocol.Kind,
        _ request: URLRequest,
        _ body: ResumableBody
    ) -> String? {
        guard let path = body.filePath else { return nil }
        var words = [kind.name, target(request.url)]
        // A presigned URL is signed anew each time.
        if case .s3Multipart = kind {
        } else if let query = request.url?.query(percentEncoded: true) {
            // It may be a secret.
            words.append(String(StableHash(query).value, radix: 16))
        }
        // The same file may become several objects.
        if let metadata = kind.metadata { words.append(String(StableHash(metadata).value, radix: 16)) }
        return (words + [path]).joined(separator: " ")
    }

    private static func target(_ url: URL?) -> String {
        guard let url, var components = URLComponents(url: url.absoluteURL, resolvingAgainstBaseURL: true) else {
            return ""
        }
        (components.user, components.password, components.query, components.fragment) = (nil, nil, nil, nil)
        return components.string ?? ""
    }
}

extension ResumableProtocol.Kind {
    /// What the server is told of the upload.
    fileprivate var metadata: String? {
        switch self {
        case .tus(let options): TusMachine.metadata(options.metadata)
        case .gcs(let options): options.metadata?.base64EncodedString()
        case .ietf, .s3Multipart: nil
        }
    }
}

extension ResumptionState {
    /// Whether nothing else is another.
    fileprivate func differsInParts(from other: ResumptionState) -> Bool {
        var same = self
        same.parts = other.parts
        return same == other
    }
}
