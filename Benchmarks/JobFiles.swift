import Foundation

/// The files of a job, in a folder of their own.
struct JobFiles {
    let folder: URL

    /// By their numbers, from 0.
    func file(_ number: Int) -> URL {
        folder.appendingPathComponent("\(number)")
    }

    /// Makes the files, and removes them afterwards.
    ///
    /// They are all holes, which are read from memory: how fast a disk is would only blur what is compared.
    static func with<Result>(_ job: Job, _ body: (JobFiles) async throws -> Result) async throws -> Result {
        try await TemporaryFolder.with { folder in
            let files = JobFiles(folder: folder)
            for number in 0..<job.fileCount {
                try Data().write(to: files.file(number))
                let handle = try FileHandle(forWritingTo: files.file(number))
                try handle.truncate(atOffset: UInt64(job.byteCount))
                try handle.close()
            }
            return try await body(files)
        }
    }
}

enum TemporaryFolder {
    /// Makes a folder, and removes it afterwards with all that is in it.
    static func with<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
        let manager = FileManager.default
        let folder = manager.temporaryDirectory.appendingPathComponent("Benchmarks-\(UUID().uuidString)")
        try manager.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? manager.removeItem(at: folder) }
        return try await body(folder)
    }
}
