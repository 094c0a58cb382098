import Foundation

/// What `fstat` says of an open file, without the platforms' differences.
struct FileStatus {
    let size: Int64
    let modified: FileTime
    let isRegularFile: Bool
    let isDirectory: Bool

    init(of descriptor: CInt, path: String) throws {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw UploadError.reading(path, errno: errno) }
        size = Int64(status.st_size)
        isRegularFile = (status.st_mode & S_IFMT) == S_IFREG
        isDirectory = (status.st_mode & S_IFMT) == S_IFDIR
        modified = FileTime(status.modificationTime)
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
