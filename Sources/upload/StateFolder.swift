import AsyncUpload
import Foundation

/// The folder of `--state`, and which uploads have a checkpoint in it.
// `lock` protects `kept`.
final class StateFolder: CheckpointStore, @unchecked Sendable {
    private let store: DirectoryCheckpointStore
    private let lock = NSLock()
    private var kept: Set<String> = []

    init(_ path: String) {
        store = DirectoryCheckpointStore(FilePath.url(path))
    }

    /// Makes the folder, so that what is wrong with it is told once and before anything is sent.
    ///
    /// - Throws: ``UploadError``.
    func prepare() async throws(UploadError) {
        let probe = "probe \(UUID().uuidString)"
        do {
            try await store.claim(probe)
            await store.release(probe)
        } catch let error as UploadError {
            guard let number = (error.underlying as NSError?)?.code else { throw error }
            throw UploadError(.checkpointFailed, detail: SystemError(number: Int32(clamping: number)).message)
        } catch {
            throw UploadError(.checkpointFailed)
        }
    }

    /// Whether another process can go on with the upload.
    func keeps(_ identifier: String?) -> Bool {
        identifier.map { identifier in lock.withLock { kept.contains(identifier) } } ?? false
    }

    func claim(_ identifier: String) async throws {
        try await store.claim(identifier)
    }

    func release(_ identifier: String) async {
        await store.release(identifier)
    }

    func checkpoint(for identifier: String) async throws -> UploadCheckpoint? {
        let found = try await store.checkpoint(for: identifier)
        if found != nil { note(identifier, isKept: true) }
        return found
    }

    func save(_ checkpoint: UploadCheckpoint, for identifier: String) async throws {
        try await store.save(checkpoint, for: identifier)
        note(identifier, isKept: true)
    }

    func remove(_ identifier: String) async throws {
        try await store.remove(identifier)
        note(identifier, isKept: false)
    }

    private func note(_ identifier: String, isKept: Bool) {
        lock.withLock {
            if isKept { kept.insert(identifier) } else { kept.remove(identifier) }
        }
    }
}
