import Foundation

/// Tells every reader of one upload the same story: the newest progress, and then how it ended.
///
/// Readers may come at any time, after the end too: each gets the newest progress at once. What they have not read yet
/// is replaced by what is newer, so a slow reader costs no memory, but the end is never lost. The first end counts.
///
/// A reader whose own task is cancelled in the very moment in which the response is handed to it may get both, the response
/// and then `CancellationError`; it never gets neither.
final class UploadBroadcast: Sendable {
    typealias Outcome = Result<UploadResponse, any Error>
    typealias Events = AsyncThrowingStream<UploadEvent, any Error>

    private struct State {
        var progress = UploadProgress()
        var outcome: Outcome?
        var nextReader = 0
        var events: [Int: Events.Continuation] = [:]
        var progressUpdates: [Int: AsyncStream<UploadProgress>.Continuation] = [:]
        var responses: [Int: CheckedContinuation<UploadResponse, any Error>] = [:]

        mutating func takeNumber() -> Int {
            defer { nextReader += 1 }
            return nextReader
        }
    }

    /// Readers are told outside of the lock: waking one takes a lock of its task, and whoever cancels that task holds it
    /// while `onTermination` takes this one. The order is kept all the same, since progress and success come from one
    /// task, one after the other, and a new reader gets its first value, for which nobody can be waiting yet, inside.
    private let state = Locked(State())

    var progress: UploadProgress {
        state.withLock { $0.progress }
    }

    /// Passes on progress; ignored after the end.
    func report(_ progress: UploadProgress) {
        let readers: (events: [Events.Continuation], updates: [AsyncStream<UploadProgress>.Continuation])? =
            state.withLock { state in
                guard state.outcome == nil else { return nil }
                let isNew = progress.fraction != state.progress.fraction
                state.progress = progress
                return (isNew ? Array(state.events.values) : [], Array(state.progressUpdates.values))
            }
        guard let readers else { return }
        for reader in readers.events { reader.yield(.progress(progress.fraction)) }
        for reader in readers.updates { reader.yield(progress) }
    }

    /// Ends the story for everybody; ignored if it has ended already.
    func end(_ outcome: Outcome) {
        let readers: State? = state.withLock { state in
            guard state.outcome == nil else { return nil }
            state.outcome = outcome
            defer { (state.events, state.progressUpdates, state.responses) = ([:], [:], [:]) }
            return state
        }
        guard let readers else { return }
        for reader in readers.events.values {
            if case .success(let response) = outcome { reader.yield(.response(response.body)) }
            Self.finish(reader, outcome)
        }
        for reader in readers.progressUpdates.values { reader.finish() }
        for reader in readers.responses.values { reader.resume(with: outcome) }
    }

    /// A stream of its own for one more reader.
    ///
    /// - Parameter onLeaving: called when the reader leaves before the end: it breaks out of its loop, drops the stream,
    ///   or its task is cancelled.
    func makeEvents(onLeaving: @escaping @Sendable () -> Void = {}) -> Events {
        let (stream, reader) = Events.makeStream(bufferingPolicy: .bufferingNewest(2))
        let (number, outcome) = state.withLock { state -> (Int, Outcome?) in
            let number = state.takeNumber()
            reader.yield(.progress(state.progress.fraction))
            switch state.outcome {
            case .success(let response): reader.yield(.response(response.body))
            case .failure: break
            case nil: state.events[number] = reader
            }
            return (number, state.outcome)
        }
        if let outcome {
            Self.finish(reader, outcome)
            return stream
        }
        reader.onTermination = { [weak self] reason in
            guard case .cancelled = reason else { return }
            // A loop in a cancelled task would end as if all were well; this still reaches it.
            reader.finish(throwing: CancellationError())
            self?.state.withLock { _ = $0.events.removeValue(forKey: number) }
            onLeaving()
        }
        return stream
    }

    /// A stream of snapshots for one more reader; it ends with the upload.
    func makeProgressUpdates() -> AsyncStream<UploadProgress> {
        let (stream, reader) = AsyncStream<UploadProgress>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let (number, hasEnded) = state.withLock { state in
            let number = state.takeNumber()
            reader.yield(state.progress)
            if state.outcome == nil { state.progressUpdates[number] = reader }
            return (number, state.outcome != nil)
        }
        if hasEnded { reader.finish() }
        reader.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.progressUpdates.removeValue(forKey: number) }
        }
        return stream
    }

    /// Waits for the end, or until the current task is cancelled, which leaves the story alone. A story that has ended is told
    /// to a cancelled task, too.
    func response() async throws -> UploadResponse {
        let number = state.withLock { $0.takeNumber() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome: Outcome? = state.withLock { state in
                    if let outcome = state.outcome { return outcome }
                    // Inside, so that who cancels finds the reader unless that is seen here.
                    guard !Task.isCancelled else { return .failure(CancellationError()) }
                    state.responses[number] = continuation
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            state.withLock { $0.responses.removeValue(forKey: number) }?.resume(throwing: CancellationError())
        }
    }

    private static func finish(_ reader: Events.Continuation, _ outcome: Outcome) {
        switch outcome {
        case .success: reader.finish()
        case .failure(let error): reader.finish(throwing: error)
        }
    }
}
