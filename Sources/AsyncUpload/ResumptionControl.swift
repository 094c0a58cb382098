/// What a resumable upload is told, by its handle and by its own steps, in order.
final class ResumptionControl: Sendable {
    enum Message: Sendable {
        case pause
        /// What the steps that were given up for it had to say has been said.
        case paused(round: Int)
        case resume
        /// What is known may be kept now.
        case save
        /// - Parameters:
        ///   - round: steps of an earlier one are over, whatever they still say.
        ///   - identifier: which step.
        case step(round: Int, identifier: Int, ResumptionStepNews)
    }

    /// For the upload alone.
    let messages: AsyncStream<Message>
    private let continuation: AsyncStream<Message>.Continuation
    private let removal = Locked(false)
    private let pause = Locked(false)

    init() {
        (messages, continuation) = AsyncStream.makeStream()
    }

    func send(_ message: Message) {
        switch message {
        case .pause: pause.withLock { $0 = true }
        case .resume: pause.withLock { $0 = false }
        case .paused, .save, .step: break
        }
        continuation.yield(message)
    }

    /// Whether it is to be paused, as soon as it has heard of that.
    var wantsPause: Bool { pause.withLock { $0 } }

    /// Whether what the server has is to be removed once the upload has ended without a response.
    var removesRemote: Bool {
        get { removal.withLock { $0 } }
        set { removal.withLock { $0 = newValue } }
    }
}

/// What happens to a step that is under way.
enum ResumptionStepNews: Sendable {
    /// So many bytes of its body have been handed over.
    case sent(Int64)
    case interim(ResponseHead)
    /// - Parameter chapter: what has been sent for it; `nil` for a step that sends nothing.
    case ended(ResumptionOutcome, chapter: UploadStory?)
    /// It was given up.
    case cancelled(chapter: UploadStory?)
    /// It waits for that much longer.
    case waiting(Duration)
    case waited
}
