import Foundation

/// The files of a job, in a folder of their own, which is written to by contestants that need a file for themselves.
struct JobFiles {
    let folder: URL

    /// By their numbers, from 0.
    func file(_ number: Int) -> URL {
        folder.appendingPathComponent("\(number)")
    }

    /// Makes the files of some jobs, and removes them afterwards.
    ///
    /// They are all holes, which are read from memory: how fast a disk is would only blur what is compared.
    static func with<Result>(_ jobs: [Job], _ body: ([JobFiles]) async throws -> Result) async throws -> Result {
        try await TemporaryFolder.with { folder in
            var made: [Job: JobFiles] = [:]
            for job in Set(jobs) {
                let files = JobFiles(folder: folder.appendingPathComponent("\(made.count)"))
                try files.make(job)
                made[job] = files
            }
            return try await body(jobs.compactMap { made[$0] })
        }
    }

    private func make(_ job: Job) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        for number in 0..<job.fileCount {
            try Data().write(to: file(number))
            let handle = try FileHandle(forWritingTo: file(number))
            try handle.truncate(atOffset: UInt64(job.byteCount))
            try handle.close()
            try bringIntoMemory(file(number))
        }
    }

    /// Who reads a file first would wait for it.
    private func bringIntoMemory(_ file: URL) throws {
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        while let piece = try handle.read(upToCount: 1 << 20), !piece.isEmpty {}
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
