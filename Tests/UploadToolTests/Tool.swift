import Foundation

@testable import upload

/// The built executable, run as a child process.
struct Tool {
    struct Result {
        let status: Int32
        let output: Data
        let errors: String

        var text: String { String(decoding: output, as: UTF8.self) }
        var lines: [String] { text.split(separator: "\n").map(String.init) }
        var errorLines: [String] { errors.split(separator: "\n").map(String.init) }
    }

    struct NotFound: Error {}

    /// Where its output goes, what it takes for the temporary folder, and where it runs.
    let folder: TemporaryFolder
    var environment = ["LC_ALL": "C.UTF-8"]
    /// What it reads as standard input; nothing unless set.
    var input: Pipe?
    /// Take standard output and standard error instead of the result, for a test that reads along.
    var output: Pipe?
    var errors: Pipe?

    init() throws {
        folder = try TemporaryFolder()
    }

    /// The executable stands beside the test bundle.
    static let executable: URL? = {
        let bundles = Bundle.allBundles.map(\.bundleURL).filter { $0.pathExtension == "xctest" }
        let places = [Bundle.main.executableURL].compactMap { $0 } + bundles
        return places.map { $0.deletingLastPathComponent().appendingPathComponent("upload") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }()

    /// libcurl is where FoundationNetworking is, and so is the value that this needs.
    static let hasCurl = Platform.valueOfRemovedField != nil
    /// What `--transport` can choose here.
    static let transports = hasCurl ? ["curl", "urlsession"] : ["urlsession"]

    /// Runs it to its end. Cancelling the test, as its time limit does, kills it.
    ///
    /// - Parameters:
    ///   - prefix: a command that runs the tool, with its arguments.
    ///   - whileRunning: is given the process's number once it runs.
    func run(
        _ arguments: String...,
        prefix: [String] = [],
        executable: URL? = nil,
        whileRunning: ((Int32) async throws -> Void)? = nil
    ) async throws -> Result {
        try await run(arguments, prefix: prefix, executable: executable, whileRunning: whileRunning)
    }

    /// See ``run(_:prefix:executable:whileRunning:)-(String...,_,_,_)``.
    func run(
        _ arguments: [String],
        prefix: [String] = [],
        executable: URL? = nil,
        whileRunning: ((Int32) async throws -> Void)? = nil
    ) async throws -> Result {
        guard let executable = executable ?? Self.executable else { throw NotFound() }
        let command = prefix + [executable.path] + arguments
        let name = UUID().uuidString
        let logs = try TemporaryFolder()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: command[0])
        process.arguments = Array(command.dropFirst())
        process.currentDirectoryURL = folder.url
        process.environment = ProcessInfo.processInfo.environment
            .merging(["TMPDIR": folder.url.path]) { $1 }
            .merging(environment) { $1 }
        process.standardInput = input ?? FileHandle.nullDevice
        // Files, so that a full pipe cannot stop it.
        let log = try FileHandle(forWritingTo: logs.write(name + ".out", ""))
        process.standardOutput = output ?? log
        let errorLog = try FileHandle(forWritingTo: logs.write(name + ".err", ""))
        process.standardError = errors ?? errorLog
        let (ends, end) = AsyncStream<Int32>.makeStream()
        process.terminationHandler = { process in
            end.yield(process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus)
            end.finish()
        }
        try process.run()
        let number = process.processIdentifier
        let status: Int32? = try await withTaskCancellationHandler {
            do {
                try await whileRunning?(number)
            } catch {
                kill(number, SIGKILL)
                throw error
            }
            return await ends.first { _ in true }
        } onCancel: {
            kill(number, SIGKILL)
        }
        guard let status else { throw CancellationError() }
        return Result(
            status: status,
            output: try Data(contentsOf: logs.url.appendingPathComponent(name + ".out")),
            errors: String(
                decoding: try Data(contentsOf: logs.url.appendingPathComponent(name + ".err")),
                as: UTF8.self
            )
        )
    }
}
