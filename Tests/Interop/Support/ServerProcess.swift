import Foundation
import Testing

/// A server that runs until it is stopped, or until this process is gone, however that happens.
final class ServerProcess: Sendable {
    /// Sends SIGTERM to the server when standard input ends, which it does with the process that holds its other end, or the
    /// signal that is written there before.
    private static let guardScript = """
        exec 3<&0
        "$@" 3<&- &
        server=$!
        { read -r signal <&3; kill -s "${signal:-TERM}" "$server"; } &
        wait "$server"
        kill "$!"
        """

    /// Stays until the server has ended.
    private let folder: TemporaryFolder
    private let lifeline = Pipe()
    private let ended = DispatchSemaphore(value: 0)
    private let process = Process()

    /// - Parameter folder: takes what the server prints, in the file `output`.
    init(_ program: Program, _ arguments: [String], in folder: TemporaryFolder) throws {
        self.folder = folder
        let output = try FileHandle(forWritingTo: folder.write("output", Data()))
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", Self.guardScript, "sh", program.url.path] + arguments
        process.currentDirectoryURL = folder.url
        process.standardInput = lifeline
        process.standardOutput = output
        process.standardError = output
        process.terminationHandler = { [ended] _ in ended.signal() }
        try Self.withoutBlockedSignals(process.run)
        try output.close()
    }

    deinit {
        end()
    }

    /// Stops it, unless that has been done, and waits until it has ended.
    func end() {
        guard process.isRunning else { return }
        try? lifeline.fileHandleForWriting.close()
        if ended.wait(timeout: .now() + 10) == .timedOut { Issue.record("the server does not end") }
    }

    /// Stops it as a crash would, so that it cannot finish anything, and waits until it has ended.
    func crash() async {
        try? lifeline.fileHandleForWriting.write(contentsOf: Data("KILL\n".utf8))
        await ended()
    }

    /// Ends it without holding a thread of tasks meanwhile.
    func ended() async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                self.end()
                continuation.resume()
            }
        }
    }

    var isRunning: Bool { process.isRunning }

    /// The threads that tests run on block most signals, and a new process takes that over.
    private static func withoutBlockedSignals(_ body: () throws -> Void) rethrows {
        var (none, usual) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &usual)
        defer { pthread_sigmask(SIG_SETMASK, &usual, nil) }
        try body()
    }
}
