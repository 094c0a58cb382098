/// The uploads of one uploader that have not ended yet, and whether more may come.
final class OngoingUploads: Sendable {
    private struct State {
        var isClosed = false
        var isCancelling = false
        var next = 0
        /// `nil` between the beginning of an upload and its handle being there.
        var tasks: [Int: UploadTask?] = [:]
    }

    private let state = Locked(State())

    /// Opens once nothing more may come and everything has ended.
    let ended = Gate()

    /// - Returns: a number for the new upload, or `nil` when none may begin any more.
    func begin() -> Int? {
        state.withLock { state in
            guard !state.isClosed else { return nil }
            defer { state.next += 1 }
            state.tasks[state.next] = .some(nil)
            return state.next
        }
    }

    /// Makes the handle known, unless the upload has ended in the meantime.
    func attach(_ task: UploadTask, to number: Int) {
        let isCancelled = state.withLock { state in
            guard state.tasks[number] != nil else { return false }
            state.tasks[number] = task
            return state.isCancelling
        }
        if isCancelled { task.cancel() }
    }

    func end(_ number: Int) {
        let isLast = state.withLock { state in
            state.tasks[number] = nil
            return state.isClosed && state.tasks.isEmpty
        }
        if isLast { ended.open() }
    }

    /// Lets nothing more begin.
    ///
    /// - Parameter cancelling: whether what is under way is cancelled.
    func close(cancelling: Bool) {
        let tasks = state.withLock { state in
            state.isClosed = true
            state.isCancelling = state.isCancelling || cancelling
            return Array(state.tasks.values)
        }
        if cancelling {
            for task in tasks { task?.cancel() }
        }
        if tasks.isEmpty { ended.open() }
    }
}
