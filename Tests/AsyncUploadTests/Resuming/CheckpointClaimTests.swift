import Foundation
import Testing

@testable import AsyncUpload

@Suite("Claims on checkpoints")
struct CheckpointClaimTests {
    @Test("A claim is good against other stores, until it is released")
    func claimAgainstAnotherStore() async throws {
        let folder = try CheckpointScratch()
        let (one, other) = (DirectoryCheckpointStore(folder.url), DirectoryCheckpointStore(folder.url))
        try await one.claim("x")
        try await one.save(.sample(), for: "x")
        let error = await failure { try await other.claim("x") }
        #expect(error?.code == .checkpointInUse)
        #expect(error?.detail == folder.path(CheckpointName(for: "x").checkpoint))
        #expect(await code { try await other.save(.sample(2), for: "x") } == .checkpointInUse)
        #expect(await code { try await other.remove("x") } == .checkpointInUse)
        #expect(try await other.checkpoint(for: "x") == .sample())
        // Not its own.
        await other.release("x")
        #expect(await code { try await other.claim("x") } == .checkpointInUse)
        try await other.claim("y")

        await one.release("x")
        try await other.claim("x")
        #expect(await code { try await one.claim("x") } == .checkpointInUse)
        try await other.remove("x")
        await other.release("x")
        await other.release("y")
        #expect(try folder.names == [])
    }

    @Test("A store that is gone has no claims")
    func claimOfReleasedStore() async throws {
        let folder = try CheckpointScratch()
        var one: DirectoryCheckpointStore? = DirectoryCheckpointStore(folder.url)
        try await one?.claim("x")
        try await one?.claim("y")
        one = nil
        let other = DirectoryCheckpointStore(folder.url)
        try await other.claim("x")
        try await other.claim("y")
    }

    @Test("Somebody who has the lock for a moment only is waited for")
    func momentaryLock() async throws {
        let folder = try CheckpointScratch()
        var lock: CheckpointLock? = try CheckpointLock(at: folder.path(CheckpointName(for: "x").lock))
        #expect(lock != nil)
        let store = DirectoryCheckpointStore(folder.url)
        async let claim: Void = store.claim("x")
        try await Task.sleep(for: .milliseconds(40))
        lock?.removeFile()
        lock = nil
        try await claim
    }

    @Test("Of many that claim and release at the same time, one has it at a time")
    func race() async throws {
        let folder = try CheckpointScratch()
        let holders = Locked((now: 0, most: 0, total: 0))
        await withTaskGroup { group in
            for _ in 0..<6 {
                let store = DirectoryCheckpointStore(folder.url)
                group.addTask {
                    for _ in 0..<60 {
                        guard (try? await store.claim("x")) != nil else { continue }
                        holders.withLock { holders in
                            holders.now += 1
                            holders.most = max(holders.most, holders.now)
                            holders.total += 1
                        }
                        await Task.yield()
                        holders.withLock { $0.now -= 1 }
                        await store.release("x")
                    }
                }
            }
        }
        #expect(holders.withLock { $0.most } == 1)
        #expect(holders.withLock { $0.total } > 60)
        #expect(try folder.names == [])
    }

    @Test("A lock file that is no longer the one of that name is no lock")
    func unlinkedLock() async throws {
        let folder = try CheckpointScratch()
        let path = folder.path(CheckpointName(for: "x").lock)
        let one = try #require(try CheckpointLock(at: path))
        unlink(path)
        let other = try #require(try CheckpointLock(at: path))
        one.removeFile()
        #expect(FileManager.default.fileExists(atPath: path))
        other.removeFile()
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    private static let flock = "/usr/bin/flock"

    @Test(
        "A claim is good against another process, and ends with it",
        .enabled(if: FileManager.default.isExecutableFile(atPath: flock))
    )
    func claimOfAnotherProcess() async throws {
        let folder = try CheckpointScratch()
        let path = folder.path(CheckpointName(for: "x").lock)
        let store = DirectoryCheckpointStore(folder.url)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.flock)
        process.arguments = ["--no-fork", path, "sleep", "60"]
        try process.run()
        // The file is there a little before its lock.
        while try CheckpointLock(at: path) != nil { try await Task.sleep(for: .milliseconds(5)) }
        #expect(await code { try await store.claim("x") } == .checkpointInUse)
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try await store.claim("x")

        let second = Process()
        second.executableURL = URL(fileURLWithPath: Self.flock)
        second.arguments = ["--nonblock", "--conflict-exit-code", "17", path, "true"]
        try second.run()
        second.waitUntilExit()
        #expect(second.terminationStatus == 17)
    }

    @Test("No descriptor is left", .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/fd")))
    func descriptors() async throws {
        let folder = try CheckpointScratch()
        var store: DirectoryCheckpointStore? = DirectoryCheckpointStore(folder.url)
        for identifier in ["a", "b", "c"] {
            try await store?.claim(identifier)
            try await store?.save(.sample(), for: identifier)
            _ = try await store?.checkpoint(for: identifier)
        }
        try folder.write(Data(), "a")
        #expect(await code { _ = try await store?.checkpoint(for: "a") } == .checkpointFailed)
        #expect(await code { try await DirectoryCheckpointStore(folder.url).claim("b") } == .checkpointInUse)
        #expect(folder.openDescriptorCount == 3)
        await store?.release("a")
        #expect(folder.openDescriptorCount == 2)
        store = nil
        #expect(folder.openDescriptorCount == 0)
    }
}
