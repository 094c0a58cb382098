import Foundation

/// A stream that is written to without a buffer in between.
struct StandardStream: Sendable {
    static let output = StandardStream(descriptor: STDOUT_FILENO)
    static let error = StandardStream(descriptor: STDERR_FILENO)

    let descriptor: Int32

    /// Takes the places of those that are closed, which whatever is opened next would get: a connection that is written to
    /// instead of standard output. Reading and writing fail as they did before.
    static func holdPlaces() {
        let modes = [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        for (descriptor, mode) in modes where fcntl(descriptor, F_GETFD) < 0 { _ = open("/dev/null", mode) }
    }

    /// Writes all of it.
    ///
    /// - Returns: 0, or the number of the system's error.
    @discardableResult
    func write(_ data: Data) -> Int32 {
        data.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Platform.put(UnsafeRawBufferPointer(rebasing: rest), to: descriptor)
                if count >= 0 {
                    rest = rest.dropFirst(count)
                } else if errno == EAGAIN {
                    // Somebody made the stream non-blocking; wait until it takes more.
                    var polled = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    _ = poll(&polled, 1, -1)
                } else if errno != EINTR {
                    return errno
                }
            }
            return 0
        }
    }

    @discardableResult
    func write(_ text: String) -> Int32 {
        write(Data(text.utf8))
    }
}
