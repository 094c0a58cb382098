import Foundation

/// A lock that nobody else has, in this process or another, while this object is there. It ends with the process,
/// however that ends.
final class CheckpointLock {
    private let path: String
    private let descriptor: CInt

    /// Takes the lock, in a file that is made for it; `nil` when somebody else has it.
    init?(at path: String) throws {
        // Whoever lets go removes the file: the lock of a file that is no longer there is worth nothing.
        for _ in 0..<100 {
            let descriptor = uninterrupted {
                open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
            }
            guard descriptor >= 0 else { throw UploadError.keeping(path, errno: errno) }
            guard uninterrupted({ flock(descriptor, LOCK_EX | LOCK_NB) }) == 0 else {
                let code = errno
                close(descriptor)
                guard code != EWOULDBLOCK else { return nil }
                throw UploadError.keeping(path, errno: code)
            }
            if Self.isFile(at: path, of: descriptor) {
                self.path = path
                self.descriptor = descriptor
                return
            }
            close(descriptor)
        }
        return nil
    }

    /// Removes the file; the lock remains until the object is gone.
    func removeFile() {
        // Somebody may have removed the file from outside, and another one have made it anew.
        if Self.isFile(at: path, of: descriptor) { unlink(path) }
    }

    deinit {
        // A child that is being started has the descriptor, too, until its program is there.
        _ = flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    private static func isFile(at path: String, of descriptor: CInt) -> Bool {
        var (open, named) = (stat(), stat())
        return fstat(descriptor, &open) == 0 && lstat(path, &named) == 0
            && open.st_dev == named.st_dev && open.st_ino == named.st_ino
    }
}
