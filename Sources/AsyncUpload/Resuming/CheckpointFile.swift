import Foundation

/// The bytes of a checkpoint's file.
enum CheckpointFile {
    /// More is not read: nothing of ours is so large.
    static let maximumSize = 4 << 20

    /// Writes what it can, like `Platform.put`.
    typealias Put = @Sendable (UnsafeRawBufferPointer, CInt) -> Int

    /// What is in the file; `nil` when there is none.
    ///
    /// - Parameter folder: where it is.
    static func read(_ path: String, in folder: String) throws -> Data? {
        // Nonblocking, so that a FIFO in its place is no trap.
        let descriptor = uninterrupted { open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) }
        guard descriptor >= 0 else {
            guard errno != ENOENT else { return nil }
            throw UploadError.keeping(path, errno: errno)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw UploadError.keeping(path, errno: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw CheckpointFault.notAFile.error(path) }
        guard isTrusted(status, in: folder) else { throw CheckpointFault.foreignOwner.error(path) }
        return try contents(of: descriptor, path)
    }

    /// A checkpoint says where bytes are sent: another user must not be able to plant one in a folder that everybody
    /// may write to. Who has the folder can do anything anyway; on some volumes everything belongs to one user.
    private static func isTrusted(_ status: stat, in folder: String) -> Bool {
        if status.st_uid == geteuid() { return true }
        var parent = stat()
        return stat(folder, &parent) == 0 && status.st_uid == parent.st_uid
    }

    private static func contents(of descriptor: CInt, _ path: String) throws -> Data {
        var contents = Data()
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = uninterrupted { buffer.withUnsafeMutableBytes { Platform.get($0, from: descriptor) } }
            guard count >= 0 else { throw UploadError.keeping(path, errno: errno) }
            guard count > 0 else { return contents }
            contents += buffer[..<count]
            guard contents.count <= maximumSize else { throw CheckpointFault.tooLarge.error(path) }
        }
    }

    /// Puts a file with these bytes in the place of what is there, which stays as it is if that fails.
    ///
    /// - Parameter partial: the path of a new file in the same folder.
    static func replace(_ path: String, by contents: Data, through partial: String, put: Put) throws {
        let descriptor = uninterrupted {
            open(partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        }
        guard descriptor >= 0 else { throw UploadError.keeping(partial, errno: errno) }
        do {
            defer { close(descriptor) }
            try contents.withUnsafeBytes { try write($0, to: descriptor, partial, put) }
            // Without it the new name may outlive a power failure, and the bytes not.
            guard uninterrupted({ fsync(descriptor) }) == 0 else { throw UploadError.keeping(partial, errno: errno) }
            guard rename(partial, path) == 0 else { throw UploadError.keeping(path, errno: errno) }
        } catch {
            unlink(partial)
            throw error
        }
    }

    private static func write(
        _ bytes: UnsafeRawBufferPointer,
        to descriptor: CInt,
        _ path: String,
        _ put: Put
    ) throws {
        var rest = bytes
        while !rest.isEmpty {
            let count = uninterrupted { put(rest, descriptor) }
            guard count > 0 else { throw UploadError.keeping(path, errno: count == 0 ? ENOSPC : errno) }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// Removes the file, if there is one.
    static func remove(_ path: String) throws {
        guard unlink(path) == 0 || errno == ENOENT else { throw UploadError.keeping(path, errno: errno) }
    }

    /// When what has this name was last modified; `nil` when there is nothing.
    static func modificationDate(_ path: String) -> Date? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        return Date(timeIntervalSince1970: TimeInterval(status.modificationTime.tv_sec))
    }

    /// Makes a folder that only its owner may enter, and those that it is in; what is there is left as it is.
    static func makeFolder(_ path: String) throws {
        var status = stat()
        if stat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFDIR else { throw UploadError.keeping(path, errno: ENOTDIR) }
            return
        }
        if errno == ENOENT {
            let parent = URL(fileURLWithPath: path).deletingLastPathComponent().path
            if parent != path { try makeFolder(parent) }
        }
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw UploadError.keeping(path, errno: errno) }
    }
}

/// Makes a call of the system again for as long as signals interrupt it.
func uninterrupted<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}

/// What is wrong with a checkpoint that could be read.
enum CheckpointFault: Error, Hashable {
    case notAFile
    case foreignOwner
    case tooLarge
    /// No JSON, or not what a checkpoint has in it.
    case damaged
    /// A format of another version of this package.
    case version(Int)
    /// Of another upload.
    case foreignIdentifier

    /// What the store throws for it. Nothing of the contents is in it: they are secret.
    func error(_ path: String) -> UploadError {
        UploadError(.checkpointFailed, detail: "\(path): \(reason)", underlying: self)
    }

    private var reason: String {
        switch self {
        case .notAFile: "not a regular file"
        case .foreignOwner: "belongs to another user"
        case .tooLarge: "larger than \(CheckpointFile.maximumSize) bytes"
        case .damaged: "damaged"
        case .version(let version): "of an unknown version (\(version))"
        case .foreignIdentifier: "of another upload"
        }
    }
}

extension UploadError {
    static func keeping(_ path: String, errno code: CInt) -> UploadError {
        UploadError(
            .checkpointFailed,
            detail: "\(path): \(String(cString: strerror(code)))",
            underlying: NSError(domain: NSPOSIXErrorDomain, code: Int(code))
        )
    }
}
