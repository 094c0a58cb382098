import Foundation
import Testing

@testable import AsyncUpload

@Suite("Checkpoint stores")
struct CheckpointStoreTests {
    // MARK: Both stores

    enum Kind: CaseIterable {
        case memory, directory
    }

    private func store(_ kind: Kind, in folder: CheckpointScratch) -> any CheckpointStore {
        switch kind {
        case .memory: MemoryCheckpointStore()
        case .directory: DirectoryCheckpointStore(folder.url)
        }
    }

    @Test("What is saved is there, until it is replaced or removed", arguments: Kind.allCases)
    func roundTrip(_ kind: Kind) async throws {
        let store = store(kind, in: try CheckpointScratch())
        #expect(try await store.checkpoint(for: "a") == nil)
        try await store.remove("a")

        try await store.claim("a")
        try await store.save(.sample(1), for: "a")
        #expect(try await store.checkpoint(for: "a") == .sample(1))
        try await store.save(.sample(2), for: "a")
        try await store.save(.sample(3), for: "b")
        #expect(try await store.checkpoint(for: "a") == .sample(2))
        await store.release("a")
        #expect(try await store.checkpoint(for: "a") == .sample(2))

        try await store.remove("a")
        #expect(try await store.checkpoint(for: "a") == nil)
        #expect(try await store.checkpoint(for: "b") == .sample(3))
    }

    @Test("A second claim is refused, and one after the release is not", arguments: Kind.allCases)
    func claims(_ kind: Kind) async throws {
        let store = store(kind, in: try CheckpointScratch())
        await store.release("a")
        try await store.claim("a")
        try await store.claim("b")
        #expect(await code { try await store.claim("a") } == .checkpointInUse)
        await store.release("a")
        try await store.claim("a")
        #expect(await code { try await store.claim("b") } == .checkpointInUse)
    }

    static let identifiers: [String] = [
        "", " ", ".", "..", "/", "../../etc/passwd", "a\0b", "a\0c", "\n\r\t\u{7f}", "\"quotes\" and \\",
        "tus https://example.com/files /home/user/Urlaub & Größe.mp4", "👩‍👩‍👧", "e\u{301}", "\u{e9}", "a", "A",
        String(repeating: "x", count: 100_000), String(repeating: "x", count: 100_001),
        String(repeating: "/", count: 5_000), "a.checkpoint", "-rf",
    ]

    @Test("Any text is an identifier, and no two have the same checkpoint", arguments: Kind.allCases)
    func identifiers(_ kind: Kind) async throws {
        let folder = try CheckpointScratch()
        let store = store(kind, in: folder)
        for (index, identifier) in Self.identifiers.enumerated() {
            try await store.claim(identifier)
            #expect(try await store.checkpoint(for: identifier) == nil)
            try await store.save(.sample(index), for: identifier)
        }
        for (index, identifier) in Self.identifiers.enumerated() {
            #expect(try await store.checkpoint(for: identifier) == .sample(index))
            await store.release(identifier)
        }
        guard kind == .directory else { return }
        #expect(try folder.names.count == Self.identifiers.count)
        #expect(try folder.names.allSatisfy { CheckpointName.parse($0)?.kind == .checkpoint })
    }

    // MARK: Names

    @Test("The hash is FNV-1a")
    func hash() {
        #expect(CheckpointName.hash("".utf8) == 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
        #expect(CheckpointName.hash("a".utf8) == 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964)
        #expect(CheckpointName.hash("foobar".utf8) == 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18)
    }

    @Test("A name is readable, and short enough for any file system")
    func names() {
        #expect(
            CheckpointName(for: "tus https://a.example/b").checkpoint.hasPrefix("tus-https-a-example-b-")
        )
        for identifier in Self.identifiers {
            let name = CheckpointName(for: identifier)
            for file in [name.checkpoint, name.lock, name.partial()] {
                #expect(file.utf8.count < 143)
                #expect(!file.hasPrefix(".") && !file.hasPrefix("-"))
                #expect(CheckpointName.parse(file)?.name == name)
            }
        }
    }

    @Test("Other files are not taken for checkpoints")
    func foreignNames() {
        let hash = String(repeating: "0123456789abcdef", count: 2)
        #expect(CheckpointName.parse("x-\(hash).checkpoint") != nil)
        #expect(CheckpointName.parse("\(hash).lock") != nil)
        let others = [
            "", ".", "..", hash, "x-\(hash)", "x\(hash).checkpoint", "x-\(hash).json", "x-\(hash).partial",
            "x-\(hash)..partial", "x-\(hash).xyz.partial", "x-\(hash).1.lock", "x-\(hash.dropLast()).lock",
            "x-\(hash.uppercased()).lock", "ü-\(hash).lock", "a b-\(hash).lock", ".x-\(hash).lock", "notes.checkpoint",
        ]
        for other in others { #expect(CheckpointName.parse(other) == nil, "\(other)") }
    }

    // MARK: Files

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

    // MARK: Claims

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

    // MARK: Expiry

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

// MARK: - Help

/// A folder of a test's own, gone with the last reference to it.
private final class CheckpointScratch: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appendingPathComponent("checkpoints-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    var path: String { url.path }

    func path(_ name: String) -> String { "\(url.path)/\(name)" }

    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() }
    }

    private func file(_ identifier: String) -> URL {
        url.appendingPathComponent(CheckpointName(for: identifier).checkpoint)
    }

    func contents(_ identifier: String) throws -> Data {
        try Data(contentsOf: file(identifier))
    }

    func write(_ contents: Data, _ identifier: String) throws {
        try contents.write(to: file(identifier))
    }

    func replace(_ text: String, by other: String, in identifier: String) throws {
        let contents = String(decoding: try contents(identifier), as: UTF8.self)
        try #require(contents.contains(text))
        try write(Data(contents.replacingOccurrences(of: text, with: other).utf8), identifier)
    }

    func setModificationDate(_ date: Date, _ identifier: String) throws {
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file(identifier).path)
    }

    /// How many files of the folder this process has open; `nil` where the system does not tell.
    var openDescriptorCount: Int? {
        guard let descriptors = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") else {
            return nil
        }
        return descriptors.count {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))?.hasPrefix(path) == true
        }
    }
}

private func mode(_ path: String) throws -> mode_t {
    var status = stat()
    try #require(stat(path, &status) == 0)
    return status.st_mode & 0o7777
}

private func failure(_ work: () async throws -> Void) async -> UploadError? {
    do {
        try await work()
        return nil
    } catch {
        return error as? UploadError
    }
}

private func code(_ work: () async throws -> Void) async -> UploadError.Code? {
    await failure(work)?.code
}

/// What the system has said.
private func posixCode(_ work: () async throws -> Void) async -> CInt? {
    let error = await failure(work)
    guard let error, error.code == .checkpointFailed, let underlying = error.underlying as? NSError,
        underlying.domain == NSPOSIXErrorDomain
    else { return nil }
    return CInt(underlying.code)
}

extension UploadCheckpoint {
    fileprivate static func sample(_ number: Int = 0, expires expiration: Date? = nil) -> UploadCheckpoint {
        UploadCheckpoint(
            creationDate: Date(timeIntervalSince1970: 1_700_000_000.123_456_7),
            protocolName: "tus",
            target: "https://example.com/files",
            body: Body(
                length: .max,
                contentType: "text/plain; charset=\"utf-8\"",
                files: [Body.File(device: .max, number: .max, size: 1 << 62, seconds: -1, nanoseconds: 999_999_999)]
            ),
            state: ResumptionState(
                location: "https://example.com/files/\(number)?a=%2F/b\u{e9}",
                partSize: 1 << 53 + 1,
                parts: [1: .init(location: nil, entityTag: "\"tag\""), 10_000: .init(location: "x", entityTag: nil)],
                expiration: expiration
            )
        )
    }

    /// More than the system writes or reads at once.
    fileprivate static func large(_ number: Int) -> UploadCheckpoint {
        var checkpoint = sample(number)
        for part in 1...2000 {
            checkpoint.state.parts[part] = ResumptionState.Part(location: "\(number)", entityTag: "\"\(part)\"")
        }
        return checkpoint
    }
}
