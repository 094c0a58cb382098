import Dispatch
import Foundation

/// Runs an actor on a session's delegate queue, so that callbacks are inside the actor's isolation when they arrive:
/// in order, and without a hop.
final class DelegateQueueExecutor: SerialExecutor {
    let queue: DispatchQueue

    init(label: String) {
        queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(queue))
    }

    /// A queue of operations to give to the session as its delegate queue.
    func makeOperationQueue() -> OperationQueue {
        let operations = OperationQueue()
        operations.maxConcurrentOperationCount = 1
        operations.underlyingQueue = queue
        return operations
    }
}
