import Testing

@testable import AsyncUpload

@Suite("Which uploads have not ended", .timeLimit(.minutes(5)))
struct OngoingUploadsTests {
    private let ongoing = OngoingUploads()

    /// An upload that runs until it is cancelled.
    private func makeTask() -> (task: UploadTask, broadcast: UploadBroadcast) {
        let broadcast = UploadBroadcast()
        return (UploadTask(broadcast: broadcast, work: Task {}), broadcast)
    }

    private func isCancelled(_ broadcast: UploadBroadcast) async -> Bool {
        broadcast.end(.success(UploadResponse(statusCode: 200)))
        do {
            _ = try await broadcast.response()
            return false
        } catch {
            return error is CancellationError
        }
    }

    @Test("Closing with nothing under way is the end at once", arguments: [true, false])
    func closingIdle(cancelling: Bool) throws {
        ongoing.end(try #require(ongoing.begin()))
        #expect(!ongoing.ended.isOpen)
        ongoing.close(cancelling: cancelling)
        #expect(ongoing.ended.isOpen)
        #expect(ongoing.begin() == nil)
    }

    @Test("The end is that of the last upload")
    func last() throws {
        let numbers = try (0..<3).map { _ in try #require(ongoing.begin()) }
        #expect(Set(numbers).count == 3)
        ongoing.end(numbers[0])
        ongoing.close(cancelling: false)
        #expect(ongoing.begin() == nil)
        ongoing.end(numbers[2])
        #expect(!ongoing.ended.isOpen)
        ongoing.end(numbers[1])
        #expect(ongoing.ended.isOpen)
    }

    @Test("Finishing cancels nothing; cancelling does, also what an earlier finishing waits for")
    func cancelling() async throws {
        let upload = makeTask()
        let finished = makeTask()
        let (number, other) = (try #require(ongoing.begin()), try #require(ongoing.begin()))
        ongoing.attach(upload.task, to: number)
        ongoing.attach(finished.task, to: other)
        ongoing.close(cancelling: false)
        #expect(await !isCancelled(finished.broadcast))
        ongoing.end(other)
        ongoing.close(cancelling: true)
        #expect(await isCancelled(upload.broadcast))
        #expect(!ongoing.ended.isOpen)
        ongoing.end(number)
        #expect(ongoing.ended.isOpen)
    }

    @Test(
        "A handle that comes after the cancelling is cancelled, after the finishing it is not",
        arguments: [true, false]
    )
    func lateHandle(cancelling: Bool) async throws {
        let upload = makeTask()
        let number = try #require(ongoing.begin())
        ongoing.close(cancelling: cancelling)
        // A later finishing does not take the cancelling back.
        ongoing.close(cancelling: false)
        ongoing.attach(upload.task, to: number)
        #expect(await isCancelled(upload.broadcast) == cancelling)
    }

    @Test("A handle that comes after its upload's end is not kept")
    func handleAfterTheEnd() async throws {
        let upload = makeTask()
        let number = try #require(ongoing.begin())
        ongoing.end(number)
        ongoing.attach(upload.task, to: number)
        ongoing.close(cancelling: true)
        #expect(ongoing.ended.isOpen)
        #expect(await !isCancelled(upload.broadcast))
    }

    @Test("Ending twice is ending once")
    func endingTwice() throws {
        let (first, second) = (try #require(ongoing.begin()), try #require(ongoing.begin()))
        ongoing.close(cancelling: false)
        ongoing.end(first)
        ongoing.end(first)
        #expect(!ongoing.ended.isOpen)
        ongoing.end(second)
        #expect(ongoing.ended.isOpen)
    }
}
