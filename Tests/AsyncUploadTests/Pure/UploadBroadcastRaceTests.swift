import Foundation
import Testing

@testable import AsyncUpload

@Suite("Readers that are cancelled while they are told", .timeLimit(.minutes(5)))
struct UploadBroadcastRaceTests {
    /// Cancelling a task runs its handlers under a lock of that task's, which resuming it needs as well: whoever resumes
    /// a reader must not hold a lock that the handler takes.
    @Test("Cancelling a reader while it is told something does not lock anybody up")
    func cancellingWhileReporting() async {
        // In a process of its own, since the threads that are locked up are those that all tests run on.
        await #expect(processExitsWith: .success) {
            Thread.detachNewThread {
                Thread.sleep(forTimeInterval: 20)
                exit(1)
            }
            for _ in 0..<5000 { await UploadBroadcastRaceTests.race() }
        }
    }

    private static func race() async {
        let broadcast = UploadBroadcast()
        let events = broadcast.makeEvents()
        let hasRead = Gate()
        let reader = Task {
            for try await _ in events { hasRead.open() }
        }
        await hasRead.wait()
        let telling = Task {
            for step in 1...5 { broadcast.report(UploadProgress(fraction: Double(step) / 5)) }
            broadcast.end(.success(UploadResponse(statusCode: 200)))
        }
        reader.cancel()
        _ = await reader.result
        await telling.value
    }
}
