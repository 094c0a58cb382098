/// How far an upload has come: a snapshot.
public struct UploadProgress: Sendable, Equatable {
    /// The part of the body that has been handed over to the network, in `0...1`.
    ///
    /// It never decreases, is 1 once the whole body has been handed over, and stays where it is while a body that
    /// must be sent again (after a redirect, a challenge, a failure) catches up. While ``totalBytes`` is `nil` it is 0 until
    /// the end.
    public var fraction: Double

    /// How many bytes of the body the current request has handed over; starts again at 0 with each request.
    ///
    /// Of a resumable upload, how many bytes the server has for certain and those that are on their way.
    public var bytesSent: Int64

    /// The length of the body in bytes; `nil` when it is not known beforehand.
    public var totalBytes: Int64?

    /// The recent rate of the current request, averaged over about a second up to this snapshot; 0 at first.
    public var bytesPerSecond: Double

    /// How long the rest takes at that rate; `nil` when that cannot be said.
    public var estimatedTimeRemaining: Duration?

    /// Which request with the body this is about, from 1: a redirect, a challenge or a failure makes a new one, with the body from its start.
    ///
    /// Of a resumable upload, how often it has gone on, after a failure or a pause.
    public var attempt: Int

    /// How long the upload still waits before it is attempted again; `nil` unless it waits. While it waits there is a new
    /// snapshot every second. Zero while it waits for another turn.
    public var retryingIn: Duration?

    /// Why it waits, in a few words, such as `503`; `nil` unless it waits.
    public var retryReason: String?

    /// Whether the upload is paused; see ``UploadTask/pause()``.
    public var isPaused: Bool

    /// Makes a snapshot; of use in previews and tests.
    public init(
        fraction: Double = 0,
        bytesSent: Int64 = 0,
        totalBytes: Int64? = nil,
        bytesPerSecond: Double = 0,
        estimatedTimeRemaining: Duration? = nil,
        attempt: Int = 1,
        retryingIn: Duration? = nil,
        retryReason: String? = nil,
        isPaused: Bool = false
    ) {
        self.fraction = fraction
        self.bytesSent = bytesSent
        self.totalBytes = totalBytes
        self.bytesPerSecond = bytesPerSecond
        self.estimatedTimeRemaining = estimatedTimeRemaining
        self.attempt = attempt
        self.retryingIn = retryingIn
        self.retryReason = retryReason
        self.isPaused = isPaused
    }
}
