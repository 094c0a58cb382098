import Foundation

/// The temporary files that there are at the moment, for an end of the process that lets nobody clean up.
enum TemporaryFiles {
    private static let paths = Paths()

    /// Makes a file that only its owner may read, and opens it for writing.
    ///
    /// - Returns: its path and descriptor, or the number of the system's error.
    static func make() -> Result<(path: String, descriptor: Int32), SystemError> {
        let template = FileManager.default.temporaryDirectory.path + "/upload-demo-XXXXXX"
        var name = Array(template.utf8CString)
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else { return .failure(SystemError(number: errno)) }
        let path = String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        paths.change { $0.insert(path) }
        return .success((path, descriptor))
    }

    static func remove(_ path: String) {
        paths.change { paths in
            if paths.remove(path) != nil { unlink(path) }
        }
    }

    static func removeAll() {
        paths.change { paths in
            for path in paths { unlink(path) }
            paths = []
        }
    }

    // `lock` protects `paths`.
    private final class Paths: @unchecked Sendable {
        private let lock = NSLock()
        private var paths: Set<String> = []

        func change(_ body: (inout Set<String>) -> Void) {
            lock.lock()
            defer { lock.unlock() }
            body(&paths)
        }
    }
}

/// An error of the system.
struct SystemError: Error, Equatable {
    let number: Int32

    var message: String { String(cString: strerror(number)) }
}
