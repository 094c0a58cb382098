import AsyncUpload
import Foundation

/// The bytes of a descriptor, from where it stands to its end, piece by piece as they are asked for.
///
/// A read may block for as long as whoever writes likes. It does so on a queue of its own, so that no other work waits with
/// it, and is given up when the task is cancelled, though the thread goes on waiting.
struct StandardInput: AsyncSequence, Sendable {
    typealias Element = Data

    /// As far as it is known beforehand: that of the rest of a regular file.
    let length: Int64?
    private let descriptor: Int32
    private let file: FileState?

    init(descriptor: Int32 = STDIN_FILENO) {
        self.descriptor = descriptor
        file = FileState(of: descriptor)
        length = file?.length(from: descriptor)
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(DescriptorReader(descriptor, length: length, file: file))
    }

    struct Iterator: AsyncIteratorProtocol {
        private let reader: DescriptorReader
        private let queue = DispatchQueue(label: "upload.StandardInput")

        fileprivate init(_ reader: DescriptorReader) {
            self.reader = reader
        }

        /// - Throws: `UploadError` or `CancellationError`.
        func next() async throws -> Data? {
            try Task.checkCancellation()
            let (results, result) = AsyncThrowingStream<Data, any Error>.makeStream()
            queue.async { [reader] in
                do {
                    if let piece = try reader.next() { result.yield(piece) }
                    result.finish()
                } catch {
                    result.finish(throwing: error)
                }
            }
            for try await piece in results { return piece }
            try Task.checkCancellation()
            return nil
        }
    }
}

/// Reads a descriptor, blocking.
// Only used on the queue of an iterator.
private final class DescriptorReader: @unchecked Sendable {
    private let descriptor: Int32
    private let file: FileState?
    private var left: Int64?
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 64)

    init(_ descriptor: Int32, length: Int64?, file: FileState?) {
        self.descriptor = descriptor
        self.file = file
        left = length
    }

    deinit {
        buffer.deallocate()
    }

    /// The next bytes; `nil` at the end.
    func next() throws(UploadError) -> Data? {
        let wanted = Int(min(left ?? .max, Int64(buffer.count)))
        let count = wanted > 0 ? try read(wanted) : 0
        guard count > 0 else {
            // A file that goes on behind its length, or ends before, is not the one that the length was of.
            if let left, left > 0 || FileState(of: descriptor) != file { throw UploadError(.fileChanged) }
            return nil
        }
        if let left { self.left = left - Int64(count) }
        return Data(buffer[..<count])
    }

    private func read(_ wanted: Int) throws(UploadError) -> Int {
        while true {
            let count = Platform.take(UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), from: descriptor)
            if count >= 0 { return count }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                // Somebody made it non-blocking; wait until there is something.
                var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                _ = poll(&polled, 1, -1)
            case EBADF: throw UploadError(.bodyUnreadable, detail: "standard input is closed")
            case let number: throw UploadError(.bodyUnreadable, detail: SystemError(number: number).message)
            }
        }
    }
}

/// What changes when somebody writes to a regular file.
private struct FileState: Equatable {
    let size: Int64
    let seconds: Int
    let nanoseconds: Int

    /// `nil` for what is no regular file.
    init?(of descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let modified = Platform.modificationTime(of: status)
        size = Int64(status.st_size)
        (seconds, nanoseconds) = (modified.tv_sec, modified.tv_nsec)
    }

    /// How many bytes there are from where the descriptor stands; `nil` for a file that does not tell, as those under
    /// `/proc`, which say that they are empty.
    func length(from descriptor: Int32) -> Int64? {
        let position = Int64(lseek(descriptor, 0, SEEK_CUR))
        guard position >= 0 else { return nil }
        if position < size { return size - position }
        var byte: UInt8 = 0
        return pread(descriptor, &byte, 1, off_t(position)) > 0 ? nil : 0
    }
}
