/// Limits how many uploads are in flight; the others wait their turn, first come, first served.
///
/// A place in the queue is taken synchronously by ``enter()``, so the order is the order of the calls and not
/// that in which their tasks happen to be scheduled. A ticket that is never waited for must be left all the same.
final class AdmissionQueue: Sendable {
    /// One upload's place: waiting, then admitted, then gone.
    struct Ticket: Hashable, Sendable {
        fileprivate let number: Int
    }

    private struct State {
        var limit: Int
        var nextNumber = 0
        var admitted: Set<Ticket> = []
        /// In order of arrival. Tickets that left early stay in here until they come up; `waiting` says who is still there.
        var order: ArraySlice<Ticket> = []
        var waiting: [Ticket: CheckedContinuation<Void, any Error>?] = [:]

        /// Admits as many as there is room for and returns those to wake.
        mutating func admitNext() -> [CheckedContinuation<Void, any Error>] {
            var toWake: [CheckedContinuation<Void, any Error>] = []
            while admitted.count < limit, let ticket = order.popFirst() {
                guard let continuation = waiting.removeValue(forKey: ticket) else { continue }
                admitted.insert(ticket)
                if let continuation { toWake.append(continuation) }
            }
            return toWake
        }
    }

    private let state: Locked<State>

    /// - Parameter limit: how many may be admitted at a time; at least one always is.
    init(limit: Int) {
        state = Locked(State(limit: max(1, limit)))
    }

    /// How many are admitted and how many wait.
    var counts: (admitted: Int, waiting: Int) {
        state.withLock { ($0.admitted.count, $0.waiting.count) }
    }

    /// Takes the next place.
    func enter() -> Ticket {
        state.withLock { state in
            let ticket = Ticket(number: state.nextNumber)
            state.nextNumber += 1
            if state.order.isEmpty, state.admitted.count < state.limit {
                state.admitted.insert(ticket)
                return ticket
            }
            state.order.append(ticket)
            state.waiting[ticket] = .some(nil)
            // Nobody can be waiting for this ticket yet, so nothing is to be woken.
            _ = state.admitNext()
            return ticket
        }
    }

    /// Whether the ticket need not wait.
    func isAdmitted(_ ticket: Ticket) -> Bool {
        state.withLock { $0.admitted.contains(ticket) }
    }

    /// Suspends until the ticket is admitted. Throws `CancellationError` if the current task is cancelled first.
    func admission(of ticket: Ticket) async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let answer: Result<Void, any Error>? = state.withLock { state in
                    if state.admitted.contains(ticket) { return .success(()) }
                    guard !Task.isCancelled, state.waiting[ticket] != nil else { return .failure(CancellationError()) }
                    state.waiting[ticket] = continuation
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            let continuation = state.withLock { state in state.waiting.removeValue(forKey: ticket) ?? nil }
            continuation?.resume(throwing: CancellationError())
        }
    }

    /// Gives the place up, whether it was admitted or still waiting. Idempotent.
    func leave(_ ticket: Ticket) {
        let (abandoned, toWake) = state.withLock { state in
            state.admitted.remove(ticket)
            let abandoned = state.waiting.removeValue(forKey: ticket) ?? nil
            return (abandoned, state.admitNext())
        }
        abandoned?.resume(throwing: CancellationError())
        for continuation in toWake { continuation.resume() }
    }
}
