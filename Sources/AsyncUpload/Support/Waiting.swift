/// Waits for a piece of work, but not when the current task is cancelled or the time is up: then the work is cancelled, and
/// left to end by itself.
///
/// - Parameters:
///   - limit: how long it may take; `nil` for any time. Time asleep does not count.
///   - timeout: what is thrown when it takes longer.
/// - Throws: what the work throws, `CancellationError`, or `timeout`.
func waiting<Value: Sendable>(
    atMost limit: Duration?,
    orThrowing timeout: UploadError,
    for work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let (results, continuation) = AsyncThrowingStream<Value, any Error>.makeStream()
    let working = Task {
        do {
            continuation.yield(try await work())
            continuation.finish()
        } catch {
            continuation.finish(throwing: error)
        }
    }
    let timer = limit.map { limit in
        Task {
            let end = SuspendingClock.now + limit
            while case let rest = end - SuspendingClock.now, rest > .zero {
                // What is left of a sleep that is cancelled stays in memory until its time has come.
                try await Task.sleep(for: min(rest, Duration.seconds(10)), clock: .suspending)
            }
            continuation.finish(throwing: timeout)
        }
    }
    defer {
        working.cancel()
        timer?.cancel()
    }
    for try await result in results { return result }
    throw CancellationError()
}
