import Foundation

/// A body that is read from a regular file, piece by piece.
///
/// The file is opened once and read through its descriptor: what happens to its name afterwards does not matter.
/// Its size and modification time must stay what they were, or the read fails: the bytes sent so far and those
/// still to come would belong to different contents.
final class FileBodySource: BodySource {
    let url: URL
    /// What it was when it was opened.
    let status: FileStatus
    // Made once: a URL takes its time for it.
    private let path: String
    private let descriptor: CInt
    private let removesName: Bool

    /// Opens the file.
    ///
    /// - Throws: ``UploadError`` when the file is missing, unreadable, not a regular file, or one whose size says
    ///   nothing about its contents, as under `/proc`.
    init(_ url: URL) throws {
        guard url.isFileURL else { throw UploadError(.notARegularFile, detail: "\(url) is not a file URL") }
        let path = url.path
        // A FIFO without a writer would block the open itself.
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw UploadError.reading(path, errno: errno) }
        do {
            let status = try FileStatus(of: descriptor, path: path)
            guard status.isRegularFile else {
                throw UploadError(.notARegularFile, detail: status.isDirectory ? "\(path) is a directory" : path)
            }
            if status.size == 0, Self.hasBytes(descriptor) {
                throw UploadError(.notARegularFile, detail: "\(path) does not tell its size")
            }
            self.url = url
            self.path = path
            self.descriptor = descriptor
            self.status = status
            removesName = false
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Takes over an open file that belongs to nobody else.
    ///
    /// - Parameters:
    ///   - url: what it is, or was, called.
    ///   - removesName: whether the name goes when the source does.
    init(adopting descriptor: CInt, _ url: URL, removesName: Bool) throws {
        path = url.path
        status = try FileStatus(of: descriptor, path: path)
        self.url = url
        self.descriptor = descriptor
        self.removesName = removesName
    }

    deinit {
        close(descriptor)
        if removesName { unlink(path) }
    }

    var length: Int64 { status.size }

    var files: [FileStatus] { [status] }

    var contents: BodyContents { .file(url) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
        let wanted = Int(min(Int64(buffer.count), length - offset))
        guard wanted > 0, let start = buffer.baseAddress else { return 0 }
        var count = 0
        while count < wanted {
            let result = pread(descriptor, start + count, wanted - count, off_t(offset) + off_t(count))
            if result < 0, errno == EINTR { continue }
            guard result >= 0 else { throw UploadError.reading(path, errno: errno) }
            guard result > 0 else { throw UploadError(.fileChanged, detail: path) }
            count += result
        }
        try checkUnchanged()
        return count
    }

    func checkUnchanged() throws {
        guard try FileStatus(of: descriptor, path: path) == status else {
            throw UploadError(.fileChanged, detail: path)
        }
    }

    func checkNameUnchanged() throws {
        guard try FileStatus(of: path).file == status.file else {
            throw UploadError(.fileChanged, detail: path)
        }
    }

    private static func hasBytes(_ descriptor: CInt) -> Bool {
        var byte: UInt8 = 0
        return pread(descriptor, &byte, 1, 0) > 0
    }
}

extension UploadError {
    /// The error for a file that could not be opened or read.
    static func reading(_ path: String, errno code: CInt) -> UploadError {
        let kind: Code =
            switch code {
            case ENOENT, ENOTDIR: .fileNotFound
            case EACCES, EPERM: .permissionDenied
            case EISDIR, ENXIO, ELOOP: .notARegularFile
            default: .bodyUnreadable
            }
        let reason = NSError(domain: NSPOSIXErrorDomain, code: Int(code))
        let detail = kind == .bodyUnreadable ? "\(path): \(String(cString: strerror(code)))" : path
        return UploadError(kind, detail: detail, underlying: reason)
    }
}
