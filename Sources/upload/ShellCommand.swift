import Foundation

/// A command line for `/bin/sh`.
enum ShellCommand {
    /// What it prints. Its errors go where those of this process go. Cancelling the current task ends it.
    ///
    /// - Parameter arguments: `$1`, `$2` and so on.
    /// - Throws: ``PartURLFailure`` if it cannot be run or does not succeed, or `CancellationError`.
    static func output(of command: String, arguments: [String]) async throws -> Data {
        try Task.checkCancellation()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command, "upload"] + arguments
        process.standardInput = FileHandle.nullDevice
        let pipe = Pipe()
        process.standardOutput = pipe
        let (ends, end) = AsyncStream<Int32>.makeStream()
        process.terminationHandler = { process in
            end.yield(process.terminationReason == .exit ? process.terminationStatus : -1)
            end.finish()
        }
        do { try process.run() } catch {
            throw PartURLFailure("the command cannot be run: \(error.localizedDescription)")
        }
        return try await withTaskCancellationHandler {
            let output = try await read(pipe.fileHandleForReading)
            let status = await ends.first { _ in true }
            try Task.checkCancellation()
            guard status == 0 else {
                let words = status == -1 ? "a signal" : "the status \(status ?? -1)"
                throw PartURLFailure("the command ended with \(words)")
            }
            return output
        } onCancel: {
            process.terminate()
        }
    }

    private static func read(_ handle: FileHandle) async throws -> Data {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "upload.ShellCommand").async {
                continuation.resume(with: Result { try handle.readToEnd() ?? Data() })
            }
        }
    }
}
