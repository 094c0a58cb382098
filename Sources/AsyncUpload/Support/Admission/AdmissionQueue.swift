/// Limits how many uploads are in flight, all together and to each host; the others wait their turn.
///
/// Those of higher priority go first and, among equals, those that came first; hosts that refuse are asked less and
/// later: see ``Admission`` and ``HostBrake``. A place in the queue is taken synchronously by ``enter(host:priority:)``,
/// so the order is the order of the calls and not that in which their tasks happen to be scheduled. A ticket that is
/// never waited for must be left all the same.
final class AdmissionQueue: Sendable {
    /// One upload's place: waiting, then admitted, perhaps aside for a while, then gone.
    typealias Ticket = Admission.Ticket

    private typealias Waiter = CheckedContinuation<Void, any Error>

    /// The task that sleeps until the next pause ends.
    private struct Alarm {
        let instant: ContinuousClock.Instant
        let number: Int
        let task: Task<Void, Never>
    }

    private struct State {
        var admission: Admission
        var waiters: [Ticket: Waiter] = [:]
        var alarm: Alarm?
        var nextAlarm = 0
    }

    private let state: Locked<State>
    private let clock: PauseClock

    /// - Parameters:
    ///   - limit: how many may be admitted at a time; at least one always is.
    ///   - limitPerHost: how many of them to the same host, at least one; `nil` for as many as `limit` allows.
    init(limit: Int, limitPerHost: Int? = nil, clock: PauseClock = .system) {
        state = Locked(State(admission: Admission(limit: limit, limitPerHost: limitPerHost)))
        self.clock = clock
    }

    deinit {
        state.withLock { $0.alarm?.task }?.cancel()
    }

    /// How many are admitted and how many wait. Those that stepped aside are neither.
    var counts: (admitted: Int, waiting: Int) {
        state.withLock { ($0.admission.admittedCount, $0.admission.waitingCount) }
    }

    /// How many may be admitted at a time; at least one. More room is used at once, less keeps nobody out who is in.
    var limit: Int {
        get { state.withLock { $0.admission.limit } }
        set { update { $0.setLimit(newValue) } }
    }

    /// How many may be admitted to one host at a time; at least one, or `nil`. Changes work like those of ``limit``.
    var limitPerHost: Int? {
        get { state.withLock { $0.admission.limitPerHost } }
        set { update { $0.setLimitPerHost(newValue) } }
    }

    /// Takes the next place.
    ///
    /// - Parameters:
    ///   - host: whoever answers: scheme, host and port.
    ///   - priority: 0...1; what is beyond counts as the bound, what is not a number as 0.5.
    func enter(host: String = "", priority: Float = 0.5) -> Ticket {
        let now = clock.now()
        return updateState { $0.admission.enter(host: host, priority: priority, at: now) }
    }

    /// Whether the ticket need not wait.
    func isAdmitted(_ ticket: Ticket) -> Bool {
        state.withLock { $0.admission.stage(of: ticket) == .admitted }
    }

    /// Suspends until the ticket is admitted, for the first time or again. One task at a time may wait for a ticket.
    ///
    /// Throws `CancellationError` if the current task is cancelled first, or if the ticket has left or leaves meanwhile.
    func admission(of ticket: Ticket) async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let answer: Result<Void, any Error>? = state.withLock { state in
                    guard let stage = state.admission.stage(of: ticket) else { return .failure(CancellationError()) }
                    if stage == .admitted { return .success(()) }
                    guard !Task.isCancelled else { return .failure(CancellationError()) }
                    state.waiters[ticket] = continuation
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            leave(ticket) { $0 != .admitted }
        }
    }

    /// An admitted ticket gives its place up for now, for instance to wait out a delay. Any other is left where it is.
    func stepAside(_ ticket: Ticket) {
        update { $0.stepAside(ticket) }
    }

    /// A ticket that stepped aside waits again, before all who entered later. Any other is left where it is.
    func rejoin(_ ticket: Ticket) {
        let now = clock.now()
        update { $0.rejoin(ticket, at: now) }
    }

    /// Changes what a ticket that waits, now or later, is sorted by.
    ///
    /// - Parameter priority: 0...1; what is beyond counts as the bound, what is not a number changes nothing.
    func setPriority(_ priority: Float, of ticket: Ticket) {
        state.withLock { $0.admission.setPriority(priority, of: ticket) }
    }

    /// The host refused an admitted ticket because it is asked too much, with 429 or 503. It is asked less from now on.
    ///
    /// The ticket stays admitted, and is to step aside or leave next.
    ///
    /// - Parameter delay: how long the refused one is going to wait.
    func refused(_ ticket: Ticket, delay: Duration) {
        let now = clock.now()
        update { $0.refused(ticket, delay: delay, at: now) }
    }

    /// The host accepted what an admitted ticket sent. To be told before the ticket leaves.
    func accepted(_ ticket: Ticket) {
        let now = clock.now()
        update { $0.accepted(ticket, at: now) }
    }

    /// Gives the place up, whether it was admitted, waiting or aside. Idempotent.
    func leave(_ ticket: Ticket) {
        leave(ticket) { _ in true }
    }
}

// MARK: - What follows from a change

extension AdmissionQueue {
    private func leave(_ ticket: Ticket, if condition: (Admission.Stage?) -> Bool) {
        let abandoned: Waiter? = updateState { state in
            guard condition(state.admission.stage(of: ticket)) else { return (nil, []) }
            return (state.waiters.removeValue(forKey: ticket), state.admission.leave(ticket))
        }
        abandoned?.resume(throwing: CancellationError())
    }

    private func update(_ change: (inout Admission) -> [Ticket]) {
        updateState { ((), change(&$0.admission)) }
    }

    /// Changes the state, then wakes those whom that let in.
    private func updateState<Result>(_ change: (inout State) -> (Result, [Ticket])) -> Result {
        let (result, woken, outdated) = state.withLock { state in
            let (result, admitted) = change(&state)
            let woken = admitted.compactMap { state.waiters.removeValue(forKey: $0) }
            return (result, woken, setAlarm(&state))
        }
        outdated?.cancel()
        for waiter in woken { waiter.resume() }
        return result
    }

    /// Sets the alarm to the end of the next pause. Returns the task of an alarm that is not needed any more.
    private func setAlarm(_ state: inout State) -> Task<Void, Never>? {
        let instant = state.admission.nextWake
        guard instant != state.alarm?.instant else { return nil }
        let outdated = state.alarm?.task
        state.alarm = instant.map { instant in
            state.nextAlarm += 1
            return alarm(at: instant, number: state.nextAlarm)
        }
        return outdated
    }

    /// A pause may be long: its end must not keep the queue.
    private func alarm(at instant: ContinuousClock.Instant, number: Int) -> Alarm {
        let task = Task { [weak self, clock] in
            do { try await clock.sleep(instant) } catch { return }
            self?.ring(number)
        }
        return Alarm(instant: instant, number: number, task: task)
    }

    private func ring(_ number: Int) {
        let now = clock.now()
        updateState { state in
            // It may have been outdated when it woke already.
            guard state.alarm?.number == number else { return ((), []) }
            state.alarm = nil
            return ((), state.admission.advance(to: now))
        }
    }
}
