import Foundation

/// Keeps checkpoints in memory, for as long as it lives: uploads of one process go on after a failure or a
/// cancellation.
///
/// It can be used from any thread. Of what ``CheckpointStore`` may throw, only
/// ``UploadError/Code-swift.struct/checkpointInUse`` is thrown. Nothing expires: what the server has forgotten, it
/// says.
public final class MemoryCheckpointStore: CheckpointStore {
    // By the identifiers' bytes: texts that only look the same are not the same file.
    private struct State {
        var checkpoints: [Data: UploadCheckpoint] = [:]
        var claims: Set<Data> = []
    }

    private let state = Locked(State())

    /// Makes an empty one.
    public init() {}

    public func claim(_ identifier: String) async throws {
        let isNew = state.withLock { $0.claims.insert(Data(identifier.utf8)).inserted }
        guard isNew else { throw UploadError(.checkpointInUse, detail: identifier) }
    }

    public func release(_ identifier: String) async {
        state.withLock { _ = $0.claims.remove(Data(identifier.utf8)) }
    }

    public func checkpoint(for identifier: String) async throws -> UploadCheckpoint? {
        state.withLock { $0.checkpoints[Data(identifier.utf8)] }
    }

    public func save(_ checkpoint: UploadCheckpoint, for identifier: String) async throws {
        state.withLock { $0.checkpoints[Data(identifier.utf8)] = checkpoint }
    }

    public func remove(_ identifier: String) async throws {
        state.withLock { _ = $0.checkpoints.removeValue(forKey: Data(identifier.utf8)) }
    }
}
