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

    /// The file that is read and that responses would go into, under whatever name.
    func overwritten(of source: Source) -> String? {
        guard path != nil else { return nil }
        var file = stat()
        for path in source.paths where stat(path, &file) == 0 && isOutput(file) { return path }
        guard source.readsStandardInput, fstat(STDIN_FILENO, &file) == 0, isOutput(file) else { return nil }
        return "standard input"
    }

    private func isOutput(_ file: stat) -> Bool {
        var output = stat()
        guard fstat(stream.descriptor, &output) == 0, file.st_mode & S_IFMT == S_IFREG else { return false }
        return output.st_dev == file.st_dev && output.st_ino == file.st_ino
    }

    var isTerminal: Bool { Platform.isTerminal(stream.descriptor) }

    func write(_ response: UploadResponse) throws(SystemError) {
        if !hasWritten, path != nil { _ = ftruncate(stream.descriptor, 0) }
        hasWritten = true
        var data = includesHead ? Data(head(of: response).utf8) : Data()
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
    private func head(of response: UploadResponse) -> String {
        let fields = response.headers.map { field in
            let line = "\(field.name): \(field.value)"
            // What a server sends must not be able to move the cursor.
            return (isTerminal ? SafeText.escaped(line) : line) + "\r\n"
        }
        return "HTTP/1.1 \(response.statusCode) \r\n\(fields.joined())\r\n"
    }
}
