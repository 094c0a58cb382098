import Foundation

/// Looks now and then how many descriptors a process has open.
// `condition` protects `most` and `isOver`.
final class DescriptorWatch: @unchecked Sendable {
    private let condition = NSCondition()
    private var most: Int?
    private var isOver = false

    private static let interval = 0.02

    init(_ process: pid_t) {
        Thread.detachNewThread { [self] in
            condition.lock()
            defer { condition.unlock() }
            while !isOver {
                if let count = Platform.descriptorCount(of: process) { most = max(most ?? 0, count) }
                _ = condition.wait(until: Date(timeIntervalSinceNow: Self.interval))
            }
        }
    }

    /// - Returns: the most that were seen.
    func stop() -> Int? {
        condition.lock()
        defer { condition.unlock() }
        isOver = true
        condition.signal()
        return most
    }
}
