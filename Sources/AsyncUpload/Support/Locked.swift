import Foundation

/// A value behind a lock.
///
/// Built on `NSLock` because contended `Synchronization.Mutex` gives false thread-sanitizer reports on Linux.
/// The closure must not call out to code that could take the same lock again.
final class Locked<Value>: @unchecked Sendable {
    // `lock` protects `value`: it is only touched inside `withLock`.
    private var value: Value
    private let lock = NSLock()

    init(_ value: sending Value) {
        self.value = value
    }

    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
