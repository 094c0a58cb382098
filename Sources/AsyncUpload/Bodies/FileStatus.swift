import Foundation

/// What the system says of a file, without the platforms' differences.
struct FileStatus: Equatable {
    /// What makes a file the same file, whatever its name.
    struct File: Equatable {
        let device: UInt64
        let number: UInt64
    }

    let size: Int64
    let modified: FileTime
    let isRegularFile: Bool
    let isDirectory: Bool
    let file: File

    /// The status of an open file.
    init(of descriptor: CInt, path: String) throws {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw UploadError.reading(path, errno: errno) }
        self.init(status)
    }

    /// The status of the file that a path stands for.
    init(of path: String) throws {
        var status = stat()
        guard stat(path, &status) == 0 else { throw UploadError.reading(path, errno: errno) }
        self.init(status)
    }

    private init(_ status: stat) {
        size = Int64(status.st_size)
        isRegularFile = (status.st_mode & S_IFMT) == S_IFREG
        isDirectory = (status.st_mode & S_IFMT) == S_IFDIR
        modified = FileTime(status.modificationTime)
        file = File(
            device: UInt64(truncatingIfNeeded: status.st_dev),
            number: UInt64(truncatingIfNeeded: status.st_ino)
        )
    }
}

/// A file's time stamp to the nanosecond.
struct FileTime: Equatable {
    let seconds: Int64
    let nanoseconds: Int64

    init(_ time: timespec) {
        seconds = Int64(time.tv_sec)
        nanoseconds = Int64(time.tv_nsec)
    }
}
