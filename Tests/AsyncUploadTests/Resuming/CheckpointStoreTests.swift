import Foundation
import Testing

@testable import AsyncUpload

@Suite("Checkpoint stores")
struct CheckpointStoreTests {
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
}
