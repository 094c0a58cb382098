import Foundation
import Testing

/// What the process of an exit test says to standard error: nobody would see that otherwise, only how the process ended. It
/// stands there before a crash, too.
struct Transcript {
    private let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    var path: String { folder.path("stderr").path }

    /// In the process: has everything that is said meanwhile end up in the transcript, and the error that ends it, too.
    static func record(_ path: String, _ body: () async throws -> Void) async {
        let before = dup(STDERR_FILENO)
        redirect(to: open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600))
        do {
            try await body()
        } catch {
            add("\(error)")
        }
        // The library for tests has something to say of its own at the end.
        redirect(to: before)
    }

    private static func redirect(to descriptor: CInt) {
        guard descriptor >= 0 else { return }
        dup2(descriptor, STDERR_FILENO)
        close(descriptor)
    }

    /// Adds a line.
    static func add(_ text: String) {
        FileHandle.standardError.write(Data("\(text)\n".utf8))
    }

    /// Makes failures of what was said, a line each.
    func check(sourceLocation: SourceLocation = #_sourceLocation) throws {
        guard FileManager.default.fileExists(atPath: path) else { return }
        let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
        for line in text.split(separator: "\n").prefix(100) {
            Issue.record("\(line)", sourceLocation: sourceLocation)
        }
    }
}
