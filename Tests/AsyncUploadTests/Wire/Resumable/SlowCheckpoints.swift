import Foundation
import LoopbackServer
import Testing

@testable import AsyncUpload

/// A store of one checkpoint that takes its time.
private final class SlowCheckpointStore: CheckpointStore {
    private let kept = Locked<UploadCheckpoint?>(nil)

    /// How many parts it knows of.
    var partCount: Int { kept.withLock { $0?.state.parts.count ?? 0 } }

    func claim(_ identifier: String) async throws {}
    func release(_ identifier: String) async {}
    func checkpoint(for identifier: String) async throws -> UploadCheckpoint? { kept.withLock { $0 } }

    func save(_ checkpoint: UploadCheckpoint, for identifier: String) async throws {
        try await Task.sleep(for: .milliseconds(50))
        kept.withLock { $0 = checkpoint }
    }

    func remove(_ identifier: String) async throws { kept.withLock { $0 = nil } }
}

extension OverTheWire {
    @Suite("Checkpoints that take long to keep") struct SlowCheckpoints {
        @Test("All parts that are there are kept even if nothing moves any more")
        func standstill() async throws {
            let checkpoints = SlowCheckpointStore()
            let lane = try ResumableLane(checkpoints: checkpoints)
            S3Server(store: lane.store) { $0.target.contains("partNumber=5&") ? .stallAfter(1000) : nil }
                .install(on: lane.server)
            var options = lane.s3Options()
            options.parallelParts = 5
            let task = lane.uploader.task(
                for: lane.s3Request,
                fromFile: try lane.scratch.file(bytes(22_000_000)),
                resuming: .s3Multipart(options)
            )
            try await eventually(within: .seconds(20)) { checkpoints.partCount == 4 }
            task.cancel()
            await task.waitUntilReleased()
            #expect(checkpoints.partCount == 4)
        }
    }
}
