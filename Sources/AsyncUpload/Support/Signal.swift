/// Wakes one task that waits for something to happen. What happens while nobody waits is remembered, once.
final class Signal: Sendable {
    private struct State {
        var isRaised = false
        var nextWaiter = 0
        /// The number tells it from one that was cancelled and is not gone yet.
        var waiter: (number: Int, continuation: CheckedContinuation<Void, any Error>)?

        mutating func takeWaiter() -> CheckedContinuation<Void, any Error>? {
            defer { waiter = nil }
            return waiter?.continuation
        }
    }

    private let state = Locked(State())

    func raise() {
        let waiter = state.withLock { state in
            state.isRaised = state.waiter == nil
            return state.takeWaiter()
        }
        waiter?.resume()
    }

    /// Waits until it is raised. Only one task may wait at a time, but for those that were cancelled.
    ///
    /// - Throws: `CancellationError` when the current task is cancelled.
    func wait() async throws {
        try Task.checkCancellation()
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isOver = state.withLock { state in
                    guard !Task.isCancelled else { return true }
                    if state.isRaised {
                        state.isRaised = false
                        return true
                    }
                    state.waiter = (number, continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiter?.number == number ? state.takeWaiter() : nil
            }
            waiter?.resume(throwing: CancellationError())
        }
        try Task.checkCancellation()
    }
}
