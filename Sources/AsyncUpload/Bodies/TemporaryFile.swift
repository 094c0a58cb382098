import Foundation

/// Takes in the bytes of a stream and gives them back as a body that can be read anywhere.
final class TemporaryFile: BodySink, Sendable {
    private let url: URL
    private let keepsName: Bool
    private let state: Locked<State>

    private struct State {
        /// -1 once it belongs to the body.
        var descriptor: CInt
        var check: LengthCheck
    }

    /// Makes an empty file in the temporary folder that nobody else may read.
    init(keepingName keepsName: Bool, length: Int64?) throws {
        let folder = FileManager.default.temporaryDirectory
        url = folder.appendingPathComponent("AsyncUpload-\(UUID().uuidString)")
        self.keepsName = keepsName
        let descriptor = open(url.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw UploadError.storing(in: folder, errno: errno) }
        if !keepsName { unlink(url.path) }
        state = Locked(State(descriptor: descriptor, check: LengthCheck(length)))
    }

    deinit {
        let descriptor = state.withLock { $0.descriptor }
        guard descriptor >= 0 else { return }
        close(descriptor)
        if keepsName { unlink(url.path) }
    }

    func write(_ bytes: Data) async throws {
        try Task.checkCancellation()
        try state.withLock { state in
            try state.check.take(bytes.count)
            try bytes.withUnsafeBytes { try Self.write($0, to: state.descriptor, url) }
        }
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: CInt, _ url: URL) throws {
        var rest = bytes
        while !rest.isEmpty {
            let count = Platform.put(rest, to: descriptor)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw UploadError.storing(in: url.deletingLastPathComponent(), errno: errno) }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// Makes a body of what was written. Nothing may be written afterwards.
    func finish() throws -> any BodySource {
        try state.withLock { state in
            try state.check.finish()
            let source = try FileBodySource(adopting: state.descriptor, url, removesName: keepsName)
            state.descriptor = -1
            return source
        }
    }
}

extension UploadError {
    fileprivate static func storing(in folder: URL, errno code: CInt) -> UploadError {
        UploadError(
            .temporaryFileFailed,
            detail: "\(folder.path): \(String(cString: strerror(code)))",
            underlying: NSError(domain: NSPOSIXErrorDomain, code: Int(code))
        )
    }
}
