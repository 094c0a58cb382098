import Foundation
import Testing

@testable import AsyncUpload

@Suite("Files of checkpoints")
struct CheckpointFileTests {
    @Test("Only the owner may read the files, and enter a folder that was made for them")
    func modes() async throws {
        let folder = try CheckpointScratch()
        let made = folder.url.appendingPathComponent("a/b")
        try await DirectoryCheckpointStore(made).save(.sample(), for: "x")
        #expect(try mode(made.path) == 0o700)
        #expect(try mode(made.deletingLastPathComponent().path) == 0o700)

        chmod(folder.path, 0o750)
        let store = DirectoryCheckpointStore(folder.url)
        try await store.claim("x")
        try await store.save(.sample(), for: "x")
        #expect(try mode(folder.path) == 0o750)
        #expect(try mode(folder.path(CheckpointName(for: "x").checkpoint)) == 0o600)
        #expect(try mode(folder.path(CheckpointName(for: "x").lock)) == 0o600)
    }

    @Test("The files are JSON")
    func json() async throws {
        let folder = try CheckpointScratch()
        try await DirectoryCheckpointStore(folder.url).save(.sample(), for: "x")
        let object = try JSONSerialization.jsonObject(with: folder.contents("x")) as? [String: Any]
        #expect(object?["identifier"] as? String == "x")
        #expect((object?["checkpoint"] as? [String: Any])?["version"] as? Int == 1)
    }

    @Test("Who reads while it is saved never sees half of it")
    func atomicReplacement() async throws {
        let folder = try CheckpointScratch()
        let writer = DirectoryCheckpointStore(folder.url)
        let reader = DirectoryCheckpointStore(folder.url)
        try await writer.claim("x")
        try await writer.save(.sample(0), for: "x")
        let isOver = Locked(false)
        async let reads = {
            var count = 0
            while !isOver.withLock({ $0 }) {
                _ = try #require(try await reader.checkpoint(for: "x"))
                count += 1
            }
            return count
        }()
        for number in 1...40 { try await writer.save(.large(number), for: "x") }
        isOver.withLock { $0 = true }
        #expect(try await reads > 0)
        #expect(try await reader.checkpoint(for: "x") == .large(40))
        #expect(try folder.names.count == 2)
    }

    enum Damage: CaseIterable {
        case empty, truncated, noise, otherJSON, otherVersion, noVersion, foreign, huge, folder

        var fault: CheckpointFault {
            switch self {
            case .empty, .truncated, .noise, .otherJSON, .noVersion: .damaged
            case .otherVersion: .version(2)
            case .foreign: .foreignIdentifier
            case .huge: .tooLarge
            case .folder: .notAFile
            }
        }
    }

    @Test("What is no checkpoint is told as what it is, and replaced", arguments: Damage.allCases)
    func damage(_ damage: Damage) async throws {
        let folder = try CheckpointScratch()
        let store = DirectoryCheckpointStore(folder.url)
        try await store.save(.sample(1), for: "x")
        let good = try folder.contents("x")
        let path = folder.path(CheckpointName(for: "x").checkpoint)
        switch damage {
        case .empty: try folder.write(Data(), "x")
        case .truncated: try folder.write(good.dropLast(), "x")
        case .noise: try folder.write(Data((0..<999).map { _ in .random(in: 0...255) }), "x")
        case .otherJSON: try folder.write(Data("[1, 2]".utf8), "x")
        case .otherVersion: try folder.write(Data(#"{"checkpoint": {"version": 2, "novel": []}}"#.utf8), "x")
        case .noVersion: try folder.replace(#""version":1"#, by: #""versions":1"#, in: "x")
        case .foreign: try folder.replace(#""identifier":"x""#, by: #""identifier":"y""#, in: "x")
        // JSON all the same: only its size is wrong.
        case .huge: try folder.write(good + Data(repeating: 32, count: 4 << 20), "x")
        case .folder:
            unlink(path)
            mkdir(path, 0o700)
        }
        let error = await failure { _ = try await store.checkpoint(for: "x") }
        #expect(error?.code == .checkpointFailed)
        #expect(error?.underlying as? CheckpointFault == damage.fault)
        #expect(error?.detail?.hasPrefix(path) == true)

        if damage == .folder { rmdir(path) }
        try await store.save(.sample(2), for: "x")
        #expect(try await store.checkpoint(for: "x") == .sample(2))
    }

    @Test("A checkpoint that would not be read again is not saved")
    func tooLarge() async throws {
        let folder = try CheckpointScratch()
        let store = DirectoryCheckpointStore(folder.url)
        try await store.save(.sample(1), for: "x")
        var large = UploadCheckpoint.sample(2)
        large.state.location = String(repeating: "x", count: 4 << 20)
        let error = await failure { try await store.save(large, for: "x") }
        #expect(error?.underlying as? CheckpointFault == .tooLarge)
        #expect(try await store.checkpoint(for: "x") == .sample(1))
    }

    @Test("Neither a link nor a FIFO is followed")
    func planted() async throws {
        let folder = try CheckpointScratch()
        let store = DirectoryCheckpointStore(folder.url)
        try await store.save(.sample(1), for: "x")
        let path = folder.path(CheckpointName(for: "x").checkpoint)
        let elsewhere = folder.path("elsewhere")
        try FileManager.default.moveItem(atPath: path, toPath: elsewhere)
        symlink(elsewhere, path)
        #expect(await posixCode { _ = try await store.checkpoint(for: "x") } == ELOOP)
        let before = try Data(contentsOf: URL(fileURLWithPath: elsewhere))
        try await store.save(.sample(2), for: "x")
        #expect(try Data(contentsOf: URL(fileURLWithPath: elsewhere)) == before)
        #expect(try await store.checkpoint(for: "x") == .sample(2))

        unlink(path)
        mkfifo(path, 0o600)
        let error = await failure { _ = try await store.checkpoint(for: "x") }
        #expect(error?.underlying as? CheckpointFault == .notAFile)

        symlink(elsewhere, folder.path(CheckpointName(for: "y").lock))
        #expect(await posixCode { try await store.claim("y") } == ELOOP)
    }

    @Test("What another user has planted is not read", .enabled(if: geteuid() == 0))
    func owners() async throws {
        let folder = try CheckpointScratch()
        let store = DirectoryCheckpointStore(folder.url)
        try await store.save(.sample(), for: "x")
        chown(folder.path(CheckpointName(for: "x").checkpoint), 65_534, 65_534)
        let error = await failure { _ = try await store.checkpoint(for: "x") }
        #expect(error?.underlying as? CheckpointFault == .foreignOwner)
        chown(folder.path, 65_534, 65_534)
        #expect(try await store.checkpoint(for: "x") == .sample())
    }

    // MARK: Failures of the system

    @Test("A full disk leaves the earlier checkpoint, and nothing else", arguments: [ENOSPC, EDQUOT, EIO])
    func fullDisk(_ code: CInt) async throws {
        let folder = try CheckpointScratch()
        let isFull = Locked(false)
        let store = DirectoryCheckpointStore(
            folder.url,
            CheckpointFolder(
                path: folder.path,
                lifetime: .seconds(60),
                put: { bytes, descriptor in
                    guard isFull.withLock({ $0 }), bytes.count <= 100 else {
                        return Platform.put(UnsafeRawBufferPointer(rebasing: bytes.prefix(100)), to: descriptor)
                    }
                    errno = code
                    return -1
                }
            )
        )
        try await store.claim("x")
        try await store.save(.large(1), for: "x")
        #expect(try await store.checkpoint(for: "x") == .large(1))
        isFull.withLock { $0 = true }
        #expect(await posixCode { try await store.save(.large(2), for: "x") } == code)
        #expect(try await store.checkpoint(for: "x") == .large(1))
        #expect(try folder.names.count == 2)
        #expect(folder.openDescriptorCount ?? 1 == 1)
    }

    @Test("A write that a signal interrupts is made again")
    func interruptedWrite() async throws {
        let folder = try CheckpointScratch()
        let calls = Locked(0)
        let store = DirectoryCheckpointStore(
            folder.url,
            CheckpointFolder(
                path: folder.path,
                lifetime: .seconds(60),
                put: { bytes, descriptor in
                    let call = calls.withLock { calls in
                        calls += 1
                        return calls
                    }
                    guard call % 2 == 1 else { return Platform.put(bytes, to: descriptor) }
                    errno = EINTR
                    return -1
                }
            )
        )
        try await store.save(.sample(), for: "x")
        #expect(try await store.checkpoint(for: "x") == .sample())
        #expect(calls.withLock { $0 } == 2)
    }

    @Test("A file in the folder's place, and no file URL, are errors")
    func noFolder() async throws {
        let folder = try CheckpointScratch()
        try Data().write(to: folder.url.appendingPathComponent("file"))
        for name in ["file", "file/below"] {
            let store = DirectoryCheckpointStore(folder.url.appendingPathComponent(name))
            #expect(await posixCode { try await store.claim("x") } == ENOTDIR)
            #expect(await posixCode { try await store.save(.sample(), for: "x") } == ENOTDIR)
            #expect(await posixCode { _ = try await store.checkpoint(for: "x") } == ENOTDIR)
        }
        let url = try #require(URL(string: "https://example.com/tmp"))
        #expect(await code { try await DirectoryCheckpointStore(url).claim("x") } == .checkpointFailed)
    }

    @Test("A folder that may not be written to is an error", .enabled(if: geteuid() != 0))
    func unwritable() async throws {
        let folder = try CheckpointScratch()
        let store = DirectoryCheckpointStore(folder.url)
        try await store.save(.sample(1), for: "x")
        chmod(folder.path, 0o500)
        defer { chmod(folder.path, 0o700) }
        let error = await failure { try await store.claim("x") }
        #expect(error?.code == .checkpointFailed)
        #expect(error?.detail?.contains("Permission denied") == true)
        #expect(await posixCode { try await store.save(.sample(2), for: "x") } == EACCES)
        #expect(await posixCode { try await store.remove("x") } == EACCES)
        #expect(try await store.checkpoint(for: "x") == .sample(1))
    }

    @Test("A folder that was removed is made again")
    func removedFolder() async throws {
        let folder = try CheckpointScratch()
        let store = DirectoryCheckpointStore(folder.url)
        try await store.claim("x")
        try FileManager.default.removeItem(at: folder.url)
        #expect(try await store.checkpoint(for: "x") == nil)
        try await store.save(.sample(), for: "x")
        #expect(try await store.checkpoint(for: "x") == .sample())
        await store.release("x")
    }
}

private func mode(_ path: String) throws -> mode_t {
    var status = stat()
    try #require(stat(path, &status) == 0)
    return status.st_mode & 0o7777
}
