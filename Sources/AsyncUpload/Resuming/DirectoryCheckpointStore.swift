import Dispatch
public import Foundation

/// Keeps checkpoints in a folder, so that another process can go on with an upload: after a crash, an update or a
/// restart.
///
/// There is one small JSON file for each, with a name that is made of the identifier, and only its owner may read it.
/// A folder that is missing is made when it is needed, for its owner only; one that is there keeps its permissions.
///
/// - Important: What is in these files may be all that it takes to write to an upload, as with a Google Cloud Storage
///   session URI. Keep the folder where you would keep a password, and out of backups and shared folders.
///
/// It can be used from any thread; the files are read and written on a queue of its own. Several stores, of one or
/// more processes, may have the same folder at the same time. A claim is held by `flock`: it ends with
/// ``release(_:)``, with the store, or with the process, even if that is killed. On network file systems without
/// `flock` nothing can be claimed. An iOS app should have the folder in its own container: the system ends suspended
/// apps that hold a lock in a shared one.
///
/// What the system refuses is thrown as an ``UploadError`` with ``UploadError/Code-swift.struct/checkpointFailed``,
/// the path and the reason, and an `NSError` of the POSIX domain underneath. A file that is damaged, larger than 4
/// MiB, of another version of the format, of another identifier or of another user is such an error when it is read,
/// and is replaced when the checkpoint is saved. A symbolic link is not followed.
public final class DirectoryCheckpointStore: CheckpointStore {
    private let directory: URL
    private let folder: Locked<CheckpointFolder>
    private let queue = DispatchQueue(label: "AsyncUpload.DirectoryCheckpointStore")

    /// Makes a store. Nothing is read or written before it is used, and nothing thrown for a folder that cannot be
    /// used.
    ///
    /// - Parameters:
    ///   - directory: the `file:` URL of a folder. Other files in it are left alone.
    ///   - lifetime: how long a checkpoint is kept after it was last saved, if the server has not said when it
    ///     forgets the upload: 7 days unless said otherwise. What is older is treated as if it were not there. It is
    ///     removed, unless somebody has claimed it, with the first claim and later ones, at most once an hour.
    public convenience init(_ directory: URL, lifetime: Duration = .seconds(7 * 86_400)) {
        self.init(directory, CheckpointFolder(path: directory.path, lifetime: lifetime))
    }

    init(_ directory: URL, _ folder: sending CheckpointFolder) {
        self.directory = directory
        self.folder = Locked(folder)
    }

    deinit {
        folder.withLock { $0.releaseAll() }
    }

    /// Takes the checkpoint for one upload alone.
    ///
    /// - Throws: ``UploadError`` with ``UploadError/Code-swift.struct/checkpointInUse`` when it is claimed already,
    ///   by this store, another one or another process; with ``UploadError/Code-swift.struct/checkpointFailed`` when
    ///   the folder cannot be made or written to; `CancellationError`. Nothing is claimed then.
    public func claim(_ identifier: String) async throws {
        // Another process may hold the lock for a moment only, to remove what has expired.
        for _ in 0..<10 {
            if try await perform({ try $0.claim(identifier) }) { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw try await perform { $0.inUse(CheckpointName(for: identifier)) }
    }

    /// Lets go of the checkpoint; it stays. Nothing happens if this store has not claimed it.
    public func release(_ identifier: String) async {
        _ = try? await perform { $0.release(identifier) }
    }

    /// The checkpoint; `nil` when there is none, or when it has expired.
    ///
    /// It need not be claimed.
    ///
    /// - Throws: ``UploadError`` with ``UploadError/Code-swift.struct/checkpointFailed`` when the file cannot be
    ///   read, or is not what it should be.
    public func checkpoint(for identifier: String) async throws -> UploadCheckpoint? {
        try await perform { try $0.checkpoint(for: identifier) }
    }

    /// Keeps the checkpoint in place of an earlier one. Who reads meanwhile has one or the other, whole, and so has
    /// who reads after a crash, a power failure or a full disk.
    ///
    /// A checkpoint that is not claimed is claimed for as long as it takes.
    ///
    /// - Throws: ``UploadError`` with ``UploadError/Code-swift.struct/checkpointFailed``, and the earlier one stays;
    ///   with ``UploadError/Code-swift.struct/checkpointInUse`` when somebody else has claimed it.
    public func save(_ checkpoint: UploadCheckpoint, for identifier: String) async throws {
        try await perform { try $0.save(checkpoint, for: identifier) }
    }

    /// Removes the checkpoint, if there is one.
    ///
    /// - Throws: as ``save(_:for:)`` does.
    public func remove(_ identifier: String) async throws {
        try await perform { try $0.remove(identifier) }
    }

    /// Does what blocks where nobody is kept from anything else.
    private func perform<Result: Sendable>(
        _ work: @escaping @Sendable (inout CheckpointFolder) throws -> Result
    ) async throws -> Result {
        // A path with a zero would be another one for the system.
        guard directory.isFileURL, !directory.path.utf8.contains(0) else {
            throw UploadError(.checkpointFailed, detail: "\(directory) is no file URL")
        }
        return try await withCheckedThrowingContinuation { continuation in
            queue.async { [folder] in
                continuation.resume(with: Swift.Result { try folder.withLock { try work(&$0) } })
            }
        }
    }
}
