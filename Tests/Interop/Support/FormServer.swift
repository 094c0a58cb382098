import AsyncUpload
import Foundation
import Testing

/// A Python server that reads forms. See `parse_form.py` for what it does.
final class FormServer: Sendable {
    struct Failure: Error {
        let reason: String
    }

    /// The one of the suite that is running.
    @TaskLocal static var current: FormServer?

    /// Tests may keep files of theirs in it.
    let folder: TemporaryFolder
    private let port: UInt16
    private let process: ServerProcess

    /// Starts one and waits until it answers.
    init() async throws {
        guard let python = Self.python else { throw Failure(reason: "ASYNCUPLOAD_PYTHON names no program") }
        folder = try TemporaryFolder()
        (port, process) = try await Self.start(python, in: folder)
    }

    /// Somebody else may take a port after it was found to be free.
    private static func start(
        _ python: Program,
        in folder: TemporaryFolder
    ) async throws -> (UInt16, ServerProcess) {
        for _ in 1...5 {
            let port = try Loopback.freePorts(1)[0]
            let process = try ServerProcess(python, arguments(port), in: folder)
            try await eventually("no answer from gunicorn", within: .seconds(30)) {
                !process.isRunning || (try? Loopback.get("/status/200", port: port))?.contains(" 200 ") == true
            }
            if process.isRunning { return (port, process) }
        }
        throw Failure(reason: String(decoding: try folder.read("output"), as: UTF8.self))
    }

    /// Stops it and removes its folder. A task of an upload may hold the server for longer than the tests run.
    func end() async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [process, folder] in
                process.end()
                folder.remove()
                continuation.resume()
            }
        }
    }

    private static func arguments(_ port: UInt16) -> [String] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        // -B, so that nothing is written where the script is. Preloaded, so that it answers as soon as it listens. Connections
        // stay open for longer than any test takes: a POST cannot be repeated when the server closes one just then.
        return [
            "-B", "-m", "gunicorn", "--no-control-socket", "--preload", "--bind", "127.0.0.1:\(port)",
            "--worker-class", "gthread", "--threads", "8", "--keep-alive", "120", "--graceful-timeout", "1",
            "--pythonpath", folder.path, "parse_form:application",
        ]
    }
}

extension FormServer {
    private static let python = ProcessInfo.processInfo.environment["ASYNCUPLOAD_PYTHON"].flatMap(Program.init)

    private static let check = Task {
        guard let python else { return false }
        let folder = try TemporaryFolder()
        return try await python.run(["-B", "-c", "import gunicorn, httpbin, werkzeug"], in: folder).status == 0
    }

    /// Whether there is everything to start one.
    static var isInstalled: Bool {
        get async { (try? await check.value) == true }
    }

    func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }
}

/// Starts a server for a suite, and ends it when the suite is over.
struct HasFormServer: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        let server = try await FormServer()
        do {
            try await FormServer.$current.withValue(server, operation: function)
        } catch {
            await server.end()
            throw error
        }
        await server.end()
    }
}

extension Trait where Self == HasFormServer {
    static var hasFormServer: Self { Self() }
}

/// What carries the requests of a test.
enum Carrier: String, CaseIterable, CustomTestStringConvertible {
    case automatic, urlSession

    var testDescription: String { rawValue }

    /// Whether a body goes out while it is made. `URLSession` is given a file, whose length is known.
    var streams: Bool {
        #if os(Linux)
            self == .automatic
        #else
            false
        #endif
    }

    func uploader() -> Uploader {
        Uploader { configuration in
            configuration.transport = self == .automatic ? .automatic : .urlSession
            configuration.retry = .none
            // URLSession takes no proxy but the system's.
            configuration.proxy = streams ? .direct : .system
        }
    }
}
