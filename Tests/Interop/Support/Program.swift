import Foundation

/// A program of the system.
struct Program: Sendable {
    let url: URL

    /// - Parameter name: what it is called, or where it is.
    /// - Returns: `nil` when it is not installed.
    init?(_ name: String) {
        let variable = ProcessInfo.processInfo.environment["PATH"] ?? ""
        // Where servers are is not in everybody's path.
        let folders: [Substring] = variable.split(separator: ":") + ["/usr/sbin", "/usr/local/sbin"]
        let paths = name.contains("/") ? [name] : folders.map { "\($0)/\(name)" }
        guard let path = paths.first(where: FileManager.default.isExecutableFile) else { return nil }
        url = URL(fileURLWithPath: path)
    }

    /// Runs it to its end.
    ///
    /// - Parameters:
    ///   - folder: where it runs, and what takes what it prints, in the file `output`.
    ///   - whileRunning: is given the process once it runs.
    /// - Returns: its exit status, or the signal that it has ended with as a negative number, and what it had to say.
    func run(
        _ arguments: [String],
        in folder: TemporaryFolder,
        whileRunning: ((Process) async throws -> Void)? = nil
    ) async throws -> (status: Int32, output: String) {
        let output = try folder.write("output", Data())
        let process = Process()
        process.executableURL = url
        process.arguments = arguments
        process.currentDirectoryURL = folder.url
        process.standardInput = FileHandle.nullDevice
        // A file, so that a full pipe cannot stop it.
        let handle = try FileHandle(forWritingTo: output)
        process.standardOutput = handle
        process.standardError = handle
        let (ends, end) = AsyncStream<Int32>.makeStream()
        process.terminationHandler = { process in
            end.yield(process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus)
            end.finish()
        }
        try process.run()
        try handle.close()
        // Whatever is thrown, nothing stays behind.
        defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
        try await whileRunning?(process)
        guard let status = await ends.first(where: { _ in true }) else { throw CancellationError() }
        return (status, try String(contentsOf: output, encoding: .utf8))
    }
}
