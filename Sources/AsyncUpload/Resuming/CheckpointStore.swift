/// Where the checkpoints of resumable uploads are kept.
///
/// A checkpoint has an identifier: any text, from the app (``ResumableProtocol/checkpointIdentifier``) or made of the
/// upload's address and its file. The functions may be called from many tasks at the same time, for one identifier from one
/// at a time. What they throw ends the upload with ``UploadError/Code-swift.struct/checkpointFailed`` unless said otherwise.
public protocol CheckpointStore: Sendable {
    /// Takes the checkpoint for one upload alone.
    ///
    /// - Throws: ``UploadError`` with ``UploadError/Code-swift.struct/checkpointInUse`` when another upload has it, of this or
    ///   another process. A process that was killed has none.
    func claim(_ identifier: String) async throws

    /// Lets go of the checkpoint; it stays.
    func release(_ identifier: String) async

    /// The checkpoint; `nil` when there is none.
    ///
    /// - Throws: anything when it cannot be read; the upload then starts afresh.
    func checkpoint(for identifier: String) async throws -> UploadCheckpoint?

    /// Keeps the checkpoint in place of an earlier one. Whatever happens meanwhile, one of the two is there afterwards, whole.
    func save(_ checkpoint: UploadCheckpoint, for identifier: String) async throws

    /// Removes the checkpoint, if there is one.
    func remove(_ identifier: String) async throws
}
