import Foundation

enum TemporaryFiles {
    /// Makes files, and removes them afterwards.
    ///
    /// They are all holes, which are read from memory: how fast a disk is would only blur what is compared.
    static func with<Result>(
        _ count: Int,
        of byteCount: Int,
        _ body: ([URL]) async throws -> Result
    ) async throws -> Result {
        let manager = FileManager.default
        let folder = manager.temporaryDirectory.appendingPathComponent("Benchmarks-\(UUID().uuidString)")
        try manager.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? manager.removeItem(at: folder) }
        let files = (0..<count).map { folder.appendingPathComponent("\($0)") }
        for file in files {
            try Data().write(to: file)
            let handle = try FileHandle(forWritingTo: file)
            try handle.truncate(atOffset: UInt64(byteCount))
            try handle.close()
        }
        return try await body(files)
    }

    /// Makes one file; see ``with(_:of:_:)``.
    static func withOne<Result>(of byteCount: Int, _ body: (URL) async throws -> Result) async throws -> Result {
        try await with(1, of: byteCount) { files in
            guard let file = files.first else { throw CocoaError(.fileWriteUnknown) }
            return try await body(file)
        }
    }
}
