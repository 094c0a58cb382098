import AsyncUpload
import Foundation

/// Where the content of a piece of a body comes from.
enum Origin: Equatable, Sendable {
    case text(String)
    case file(String)
    case standardInput

    /// What `@` stands before: a path, or `-` for standard input.
    init(path: String) {
        self = path == "-" ? .standardInput : .file(path)
    }

    /// The path of a file, if it is one.
    var path: String? {
        if case .file(let path) = self { path } else { nil }
    }

    /// All of it, in memory.
    ///
    /// - Throws: `SourceFailure`, or `CancellationError` when the current task is cancelled meanwhile.
    func bytes() async throws -> Data {
        switch self {
        case .text(let text): Data(text.utf8)
        case .file(let path): try await Self.bytes(ofFile: path)
        case .standardInput: try await Self.bytes(of: StandardInput(), label: "-")
        }
    }

    private static func bytes(ofFile path: String) async throws -> Data {
        // A FIFO without a writer would block the open itself.
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw SourceFailure(label: path, error: failure(number: errno)) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw SourceFailure(label: path, error: UploadError(.notARegularFile))
        }
        return try await bytes(of: StandardInput(descriptor: descriptor), label: path)
    }

    private static func bytes(of input: StandardInput, label: String) async throws -> Data {
        do {
            return try await input.reduce(into: Data()) { $0.append($1) }
        } catch let error as UploadError {
            throw SourceFailure(label: label, error: error)
        }
    }

    private static func failure(number: Int32) -> UploadError {
        switch number {
        case ENOENT, ENOTDIR: UploadError(.fileNotFound)
        case EACCES, EPERM: UploadError(.permissionDenied)
        default: UploadError(.bodyUnreadable, detail: SystemError(number: number).message)
        }
    }
}

/// A file or a stream that could not be read before the upload.
struct SourceFailure: Error {
    /// What it is called in messages.
    let label: String
    let error: UploadError
}
