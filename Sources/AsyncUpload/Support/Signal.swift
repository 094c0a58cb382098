/// Wakes one task that waits for something to happen. What happens while nobody waits is remembered, once.
final class Signal: Sendable {
    private struct State {
        var isRaised = false
        var waiter: CheckedContinuation<Void, any Error>?
    }

    private let state = Locked(State())

    func raise() {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            state.isRaised = state.waiter == nil
            return state.waiter
        }
        waiter?.resume()
    }

    /// Waits until it is raised. Only one task may wait at a time.
    ///
    /// - Throws: `CancellationError` when the current task is cancelled.
    func wait() async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.isRaised || Task.isCancelled {
                        state.isRaised = false
                        return true
                    }
                    state.waiter = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume(throwing: CancellationError())
        }
        try Task.checkCancellation()
    }
}
