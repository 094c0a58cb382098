import AsyncUpload
import Foundation

/// Where responses go: standard output, or the file of `-o`.
final class ResponseOutput {
    private let stream: StandardStream
    private let path: String?
    private let isNew: Bool
    private let includesHead: Bool
    private var hasWritten = false

    /// Opens the file, so that nobody finds out only after the upload that it cannot be written. What is in it stays
    /// until there is a response.
    init(path: String?, includesHead: Bool) throws(SystemError) {
        self.includesHead = includesHead
        self.path = path
        guard let path else {
            stream = .output
            isNew = false
            return
        }
        var descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        isNew = descriptor >= 0
        if descriptor < 0, errno == EEXIST { descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666) }
        guard descriptor >= 0 else { throw SystemError(number: errno) }
        stream = StandardStream(descriptor: descriptor)
    }

    var isTerminal: Bool { Platform.isTerminal(stream.descriptor) }

    func write(_ response: UploadResponse) throws(SystemError) {
        if !hasWritten, path != nil { _ = ftruncate(stream.descriptor, 0) }
        hasWritten = true
        var data = includesHead ? Data(Self.head(of: response).utf8) : Data()
        data.append(response.body ?? Data())
        // The shell's prompt shall not stick to it.
        if isTerminal, let last = data.last, last != UInt8(ascii: "\n") { data.append(UInt8(ascii: "\n")) }
        let number = stream.write(data)
        guard number == 0 else { throw SystemError(number: number) }
    }

    /// Closes the file, and removes it again if there was no response to write into a new one.
    func finish() throws(SystemError) {
        guard let path else { return }
        let result = close(stream.descriptor)
        if isNew, !hasWritten { unlink(path) }
        guard result == 0 else { throw SystemError(number: errno) }
    }

    /// The library does not tell the version and the reason phrase; the phrase may be empty (RFC 9112 §4).
    private static func head(of response: UploadResponse) -> String {
        let fields = response.headers.map { "\($0.name): \($0.value)\r\n" }.joined()
        return "HTTP/1.1 \(response.statusCode) \r\n\(fields)\r\n"
    }
}
