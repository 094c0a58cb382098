import Dispatch
import Foundation

/// Runs an actor on a session's delegate queue, so that callbacks are inside the actor's isolation when they arrive:
/// in order, and without a hop.
///
/// What runs on this queue must never wait for the session: FoundationNetworking waits for this queue in its turn.
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
        let operations = Platform.usesFoundationNetworking ? InlineOperationQueue(queue) : OperationQueue()
        operations.maxConcurrentOperationCount = 1
        operations.underlyingQueue = queue
        return operations
    }
}

/// Runs blocks on a dispatch queue and waits for them, on the thread that adds them.
///
/// FoundationNetworking adds a block for each 64 KiB it sends. Handing each one to another thread and back costs more
/// than all the rest of the transfer. A block that is added from within another one comes after it.
private final class InlineOperationQueue: OperationQueue, @unchecked Sendable {
    // Neither ever changes.
    private let queue: DispatchQueue
    private let isRunning = DispatchSpecificKey<Bool>()

    init(_ queue: DispatchQueue) {
        self.queue = queue
        super.init()
        queue.setSpecific(key: isRunning, value: true)
    }

    override func addOperation(_ block: @escaping @Sendable () -> Void) {
        if DispatchQueue.getSpecific(key: isRunning) == true {
            queue.async(execute: block)
        } else {
            queue.sync(execute: block)
        }
    }
}
