import Foundation

/// A file that is open only while it is read, for bodies that consist of many.
///
/// It must be the same file, unchanged, whenever it is opened.
final class ReopenedFileSource: BodySource {
    private let url: URL
    private let status: FileStatus
    private let open = Locked<FileBodySource?>(nil)

    /// - Throws: what ``FileBodySource`` throws.
    init(_ url: URL) throws {
        self.url = url
        status = try FileBodySource(url).status
    }

    var length: Int64 { status.size }

    var files: [FileStatus] { [status] }

    var contents: BodyContents { .file(url) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
        let count = try opened().read(into: buffer, at: offset)
        if offset + Int64(count) >= length { open.withLock { $0 = nil } }
        return count
    }

    func checkUnchanged() throws {
        try (open.withLock { $0 } ?? reopened()).checkUnchanged()
    }

    func checkNameUnchanged() throws {
        _ = try reopened()
    }

    private func opened() throws -> FileBodySource {
        try open.withLock { open in
            if let open { return open }
            let file = try reopened()
            open = file
            return file
        }
    }

    private func reopened() throws -> FileBodySource {
        let file = try FileBodySource(url)
        guard file.status == status else { throw UploadError(.fileChanged, detail: url.path) }
        return file
    }
}
