import Foundation
import Testing

@testable import AsyncUpload

@Suite("Checkpoints that have expired")
struct CheckpointExpiryTests {
    /// A store with a clock of its own.
    private func store(in folder: CheckpointScratch, at time: Locked<Date>) -> DirectoryCheckpointStore {
        DirectoryCheckpointStore(
            folder.url,
            CheckpointFolder(path: folder.path, lifetime: .seconds(1000), now: { time.withLock { $0 } })
        )
    }

    @Test("What the server has forgotten, or nobody has saved for too long, is not given")
    func expiry() async throws {
        let folder = try CheckpointScratch()
        let start = Date(timeIntervalSince1970: 2_000_000_000)
        let time = Locked(start)
        let store = store(in: folder, at: time)
        try await store.save(.sample(expires: start + 500), for: "short")
        try await store.save(.sample(expires: start + 5000), for: "long")
        try await store.save(.sample(), for: "none")
        func given() async throws -> [String] {
            var given: [String] = []
            for identifier in ["short", "long", "none"] where try await store.checkpoint(for: identifier) != nil {
                given.append(identifier)
            }
            return given
        }
        time.withLock { $0 = start + 499 }
        #expect(try await given() == ["short", "long", "none"])
        time.withLock { $0 = start + 500 }
        #expect(try await given() == ["long", "none"])
        time.withLock { $0 = start + 1000 }
        #expect(try await given() == ["long"])
        time.withLock { $0 = start + 5000 }
        #expect(try await given() == [])
        time.withLock { $0 = start - 5000 }
        #expect(try await given() == ["short", "long", "none"])
    }

    @Test("The first claim removes what has expired and what killed processes have left, and nothing else")
    func sweep() async throws {
        let folder = try CheckpointScratch()
        // Later than the files are: their own dates count where they cannot be read.
        let start = Date() + 10_000
        let time = Locked(start)
        let other = store(in: folder, at: time)
        try await other.claim("claimed")
        try await other.save(.sample(expires: start + 1), for: "claimed")
        try await other.save(.sample(expires: start + 1), for: "expired")
        try await other.save(.sample(expires: start + 100), for: "fresh")
        try await other.save(.sample(), for: "old")
        try folder.write(Data("{".utf8), "damaged and old")
        try folder.write(Data(#"{"checkpoint":{"version":2}}"#.utf8), "damaged and new")
        try folder.setModificationDate(start, "damaged and new")
        let claimed = CheckpointName(for: "claimed")
        let kept = [claimed.partial(), "notes.txt", "x.1.partial", "x.lock"]
        let leftovers = [
            CheckpointName(for: "expired").partial(), CheckpointName(for: "fresh").partial(),
            CheckpointName(for: "gone").partial(), CheckpointName(for: "gone, too").lock,
        ]
        for name in kept + leftovers { try Data("x".utf8).write(to: folder.url.appendingPathComponent(name)) }
        time.withLock { $0 = start + 50 }
        try await other.save(.sample(), for: "new")

        time.withLock { $0 = start + 999 }
        let before = try folder.names
        let store = store(in: folder, at: time)
        _ = try await store.checkpoint(for: "x")
        #expect(try folder.names == before)

        time.withLock { $0 = start + 50 }
        try await store.claim("x")
        let rest = ["claimed", "fresh", "old", "new", "damaged and new"].map { CheckpointName(for: $0).checkpoint }
        let locks = [claimed.lock, CheckpointName(for: "x").lock]
        #expect(try folder.names == (rest + locks + kept).sorted())
    }

    @Test("Later claims remove what has expired, at most once an hour")
    func laterSweeps() async throws {
        let folder = try CheckpointScratch()
        let start = Date(timeIntervalSince1970: 2_000_000_000)
        let time = Locked(start)
        let store = store(in: folder, at: time)
        try await store.claim("a")
        try await store.save(.sample(expires: start + 1), for: "b")
        let file = CheckpointName(for: "b").checkpoint
        time.withLock { $0 = start + 3599 }
        try await store.claim("c")
        #expect(try folder.names.contains(file))
        time.withLock { $0 = start + 3600 }
        try await store.claim("d")
        #expect(try !folder.names.contains(file))
    }
}
