/// A handle on an upload that is under way.
///
/// The upload runs whether anybody reads or not, and goes on if the handle is dropped; ``cancel()`` stops it. All
/// members may be used from any thread and at any time, after the end too.
public final class UploadTask: Sendable {
    private let broadcast: UploadBroadcast
    private let work: Task<Void, Never>
    /// `nil` for an upload that cannot be resumed.
    private let control: ResumptionControl?
    private let currentPriority = Locked<Float>(0.5)
    private let setPriority: @Sendable (Float) -> Void

    /// - Parameter setPriority: called with priorities in `0...1`.
    init(
        broadcast: UploadBroadcast,
        work: Task<Void, Never>,
        control: ResumptionControl? = nil,
        setPriority: @escaping @Sendable (Float) -> Void = { _ in }
    ) {
        self.broadcast = broadcast
        self.work = work
        self.control = control
        self.setPriority = setPriority
    }

    /// How soon the upload has its turn, in `0...1`: before others that wait with a lower priority, and after others with the
    /// same that came earlier. 0.5 unless set.
    ///
    /// It may be changed at any time; what is under way is not affected. Values out of range become the nearest one in it.
    public var priority: Float {
        get { currentPriority.withLock { $0 } }
        set {
            guard !newValue.isNaN else { return }
            let priority = min(max(newValue, 0), 1)
            // Inside, so that of two changes the queue sees the same one last.
            currentPriority.withLock { current in
                current = priority
                setPriority(priority)
            }
        }
    }

    /// The upload's events, in a stream of its own at every call.
    ///
    /// The newest fraction comes at once; after the end, so does the end. Leaving the loop leaves the upload alone.
    /// In a cancelled task the loop throws `CancellationError`. A slow reader misses fractions but never the end.
    public var events: AsyncThrowingStream<UploadEvent, any Error> {
        broadcast.makeEvents()
    }

    /// Snapshots of the upload's progress, in a stream of its own at every call.
    ///
    /// The newest snapshot comes at once; the stream ends with the upload, whichever way. A slow reader gets the newest
    /// snapshot only.
    public var progress: AsyncStream<UploadProgress> {
        broadcast.makeProgressUpdates()
    }

    /// The newest snapshot.
    public var currentProgress: UploadProgress {
        broadcast.progress
    }

    /// The accepted response, as soon as it is there.
    ///
    /// Awaiting it in a task that is cancelled cancels the upload.
    ///
    /// - Throws: ``UploadError``, or `CancellationError` when the upload was cancelled.
    public var response: UploadResponse {
        get async throws {
            do {
                return try await broadcast.response()
            } catch {
                guard Task.isCancelled else { throw error }
                // Not where the cancellation is heard of: handlers that are around this one come later, but before this, and may
                // want what the server has to be removed.
                cancel()
                return try await broadcast.response()
            }
        }
    }

    /// Stops the upload: every reader gets `CancellationError` at once, and the connection is given up right after.
    ///
    /// What the server has of a resumable upload stays there, and the checkpoint in its store: the same upload, started again, goes on
    /// with it. Where nobody could do that, it is removed. Has no effect after the end.
    public func cancel() {
        cancel(removingRemote: false)
    }

    /// Stops the upload, and has the server remove what it has of it.
    ///
    /// The removal goes on when readers have got their `CancellationError`; ``Uploader/shutDown(_:)`` waits for it. It is tried for some
    /// seconds where the server says that the upload is in use (409, 423); ``Uploader/Configuration-swift.struct/onActivity`` is told what came of it.
    ///
    /// What an earlier process has left is removed too, once the upload has had its turn. What an upload has left that was cancelled without
    /// this is not, once it has ended.
    ///
    /// - Parameter removingRemote: whether the server's part and the checkpoint are removed; of no meaning for an upload that is not resumable.
    public func cancel(removingRemote: Bool) {
        if removingRemote { control?.removesRemote = true }
        broadcast.end(.failure(CancellationError()))
        work.cancel()
    }

    // MARK: Pause

    /// Whether the upload can be paused: it was started with a ``ResumableProtocol``.
    public var isResumable: Bool { control != nil }

    /// Stops sending, keeps the checkpoint, and gives connection, open file and place among the uploads in flight to others.
    ///
    /// ``UploadProgress/isPaused`` tells when that is done. Has no effect on an upload that is not resumable, is paused already or has
    /// ended. It stays paused until it is told to go on or cancelled, even if nobody has its handle any more. While it is paused, no limit of time runs but those that the server has.
    public func pause() {
        control?.send(.pause)
    }

    /// Lets an upload that is paused go on: it waits for its turn and asks the server where. Has no effect on others.
    public func resume() {
        control?.send(.resume)
    }

    /// Returns once nothing of the upload is left: its connection has been given up and its file closed.
    func waitUntilReleased() async {
        await work.value
    }
}
