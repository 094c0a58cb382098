import Foundation

/// The threads of one server, so that stopping it can wait for their end.
// `condition` protects `count`.
final class ThreadCrew: @unchecked Sendable {
    private static let key = "LoopbackServer.ThreadCrew"
    private let condition = NSCondition()
    private var count = 0
    private let whenAllEnded: @Sendable () -> Void

    init(whenAllEnded: @escaping @Sendable () -> Void) {
        self.whenAllEnded = whenAllEnded
    }

    func start(name: String, _ body: @escaping @Sendable () -> Void) {
        condition.lock()
        count += 1
        condition.unlock()
        let thread = Thread { [self] in
            Thread.current.threadDictionary[Self.key] = ObjectIdentifier(self)
            body()
            ended()
        }
        thread.name = name
        thread.stackSize = 512 * 1024
        thread.start()
    }

    private func ended() {
        condition.lock()
        count -= 1
        if count == 0 { whenAllEnded() }
        condition.broadcast()
        condition.unlock()
    }

    /// Returns when every thread has ended, except the caller's own if that is one of them.
    func waitUntilEnded() {
        let mark = Thread.current.threadDictionary[Self.key] as? ObjectIdentifier
        let own = mark == ObjectIdentifier(self) ? 1 : 0
        condition.lock()
        while count > own { condition.wait() }
        condition.unlock()
    }
}
