import Foundation

/// The files of a ``DirectoryCheckpointStore``, and what it has claimed. All of it blocks.
///
/// Whatever changes the files of a checkpoint has its lock meanwhile, so that nobody removes what somebody is writing.
struct CheckpointFolder {
    let path: String
    private let lifetime: TimeInterval
    private let now: @Sendable () -> Date
    private let put: CheckpointFile.Put

    private var claims: [CheckpointName: CheckpointLock] = [:]
    private var lastSweep: Date?

    private static let sweepInterval: TimeInterval = 3600

    /// - Parameters:
    ///   - lifetime: for how long a checkpoint is kept that does not expire by itself.
    init(
        path: String,
        lifetime: Duration,
        now: @escaping @Sendable () -> Date = { Date() },
        put: @escaping CheckpointFile.Put = { Platform.put($0, to: $1) }
    ) {
        self.path = path
        self.lifetime = lifetime / .seconds(1)
        self.now = now
        self.put = put
    }

    private func path(_ fileName: String) -> String { "\(path)/\(fileName)" }

    /// - Returns: whether it is claimed now; `false` when another store has it for an upload, or for a moment.
    mutating func claim(_ identifier: String) throws -> Bool {
        let name = CheckpointName(for: identifier)
        guard claims[name] == nil else { throw inUse(name) }
        try CheckpointFile.makeFolder(path)
        sweepIfDue()
        guard let lock = try CheckpointLock(at: path(name.lock)) else { return false }
        claims[name] = lock
        return true
    }

    mutating func release(_ identifier: String) {
        claims.removeValue(forKey: CheckpointName(for: identifier))?.removeFile()
    }

    mutating func releaseAll() {
        for lock in claims.values { lock.removeFile() }
        claims = [:]
    }

    func checkpoint(for identifier: String) throws -> UploadCheckpoint? {
        let name = CheckpointName(for: identifier)
        guard let record = try record(name) else { return nil }
        guard record.isOf(identifier) else { throw CheckpointFault.foreignIdentifier.error(path(name.checkpoint)) }
        return isExpired(record) ? nil : record.checkpoint
    }

    func save(_ checkpoint: UploadCheckpoint, for identifier: String) throws {
        let name = CheckpointName(for: identifier)
        let file = path(name.checkpoint)
        let contents: Data
        do {
            contents = try CheckpointRecord(identifier: identifier, saved: now(), checkpoint: checkpoint).encoded()
        } catch {
            throw UploadError(.checkpointFailed, detail: "\(file): cannot be encoded", underlying: error)
        }
        guard contents.count <= CheckpointFile.maximumSize else { throw CheckpointFault.tooLarge.error(file) }
        try CheckpointFile.makeFolder(path)
        try holding(name) {
            try CheckpointFile.replace(file, by: contents, through: path(name.partial()), put: put)
        }
    }

    func remove(_ identifier: String) throws {
        let name = CheckpointName(for: identifier)
        let file = path(name.checkpoint)
        guard CheckpointFile.modificationDate(file) != nil else { return }
        try holding(name) { try CheckpointFile.remove(file) }
    }

    /// Does something that only who has the lock may do.
    private func holding(_ name: CheckpointName, _ work: () throws -> Void) throws {
        guard claims[name] == nil else { return try work() }
        guard let lock = try CheckpointLock(at: path(name.lock)) else { throw inUse(name) }
        defer { lock.removeFile() }
        try work()
    }

    func inUse(_ name: CheckpointName) -> UploadError {
        UploadError(.checkpointInUse, detail: path(name.checkpoint))
    }

    private func record(_ name: CheckpointName) throws -> CheckpointRecord? {
        let file = path(name.checkpoint)
        guard let contents = try CheckpointFile.read(file, in: path) else { return nil }
        do {
            return try CheckpointRecord.decoded(contents)
        } catch {
            throw error.error(file)
        }
    }
}

// MARK: - Sweeping

extension CheckpointFolder {
    private mutating func sweepIfDue() {
        let now = now()
        // Also when the clock was set back.
        if let lastSweep, abs(now.timeIntervalSince(lastSweep)) < Self.sweepInterval { return }
        lastSweep = now
        sweep()
    }

    /// Removes what nobody needs: checkpoints that have expired, and what killed processes have left. What cannot be
    /// removed stays.
    private func sweep() {
        var leftovers: [CheckpointName: [String]] = [:]
        for file in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] {
            guard let (name, kind) = CheckpointName.parse(file), claims[name] == nil else { continue }
            switch kind {
            case .checkpoint: if isStale(name) { leftovers[name, default: []] += [] }
            case .lock: leftovers[name, default: []] += []
            case .partial: leftovers[name, default: []].append(file)
            }
        }
        for (name, partials) in leftovers {
            try? holding(name) {
                // Asked again: only now is it certain that nobody saves.
                if isStale(name) { try? CheckpointFile.remove(path(name.checkpoint)) }
                for partial in partials { try? CheckpointFile.remove(path(partial)) }
            }
        }
    }

    private func isExpired(_ record: CheckpointRecord) -> Bool {
        (record.checkpoint.expirationDate ?? record.saved + lifetime) <= now()
    }

    private func isStale(_ name: CheckpointName) -> Bool {
        do {
            return try record(name).map(isExpired) ?? false
        } catch {
            // It may be of another version of this package.
            guard let modified = CheckpointFile.modificationDate(path(name.checkpoint)) else { return false }
            return modified + lifetime <= now()
        }
    }
}
