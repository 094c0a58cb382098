/// What the uploads of one uploader share, and what takes its place when the uploader is reset.
final class UploaderEngine: Sendable {
    /// What is let go as a whole.
    struct Generation: Sendable {
        let transport: any Transport
        let ongoing = OngoingUploads()
    }

    private struct State {
        var current: Generation
        /// Those that are being let go.
        var retiring: [Int: Generation] = [:]
        var resetCount = 0
        var isShutDown = false
    }

    private let makeTransport: @Sendable () -> any Transport
    private let state: Locked<State>

    init(_ makeTransport: @escaping @Sendable () -> any Transport) {
        self.makeTransport = makeTransport
        state = Locked(State(current: Generation(transport: makeTransport())))
    }

    /// - Returns: what a new upload uses and its number there; `nil` when none may begin any more.
    func begin() -> (Generation, number: Int)? {
        state.withLock { state in state.current.ongoing.begin().map { (state.current, $0) } }
    }

    /// Cancels what is under way and lets everything go that it has left behind. New uploads may begin in the meantime.
    func reset() async {
        let next = Generation(transport: makeTransport())
        let retired: (Generation, number: Int)? = state.withLock { state in
            guard !state.isShutDown else { return nil }
            let retired = state.current
            state.current = next
            state.resetCount += 1
            state.retiring[state.resetCount] = retired
            return (retired, state.resetCount)
        }
        guard let retired else { return await next.transport.shutDown() }
        await Self.end(retired.0, .cancelling)
        state.withLock { $0.retiring[retired.number] = nil }
    }

    func shutDown(_ mode: Uploader.ShutdownMode) async {
        let generations = state.withLock { state in
            state.isShutDown = true
            return Array(state.retiring.values) + [state.current]
        }
        for generation in generations { generation.ongoing.close(cancelling: mode == .cancelling) }
        for generation in generations { await Self.end(generation, mode) }
    }

    private static func end(_ generation: Generation, _ mode: Uploader.ShutdownMode) async {
        generation.ongoing.close(cancelling: mode == .cancelling)
        await generation.ongoing.ended.wait()
        await generation.transport.shutDown()
    }
}
