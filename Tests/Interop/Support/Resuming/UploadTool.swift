import Foundation
import Testing

/// The tool `upload`, run as a child process.
struct UploadTool {
    struct NotFound: Error {}

    struct Result {
        let status: Int32
        let output: String

        var lines: [String] { output.split(separator: "\n").map(String.init) }

        /// Where the last request went, as `-v` tells.
        var lastURL: URL? {
            output.matches(of: #/request \d+ to (http\S+): /#).last.flatMap { URL(string: String($0.1)) }
        }
    }

    /// Where it runs. It has its checkpoints in `state`.
    let folder: TemporaryFolder
    private let program: Program

    init(in folder: TemporaryFolder) throws {
        self.folder = folder
        // It stands beside the test bundle.
        let bundles = Bundle.allBundles.map(\.bundleURL).filter { $0.pathExtension == "xctest" }
        let places = [Bundle.main.executableURL].compactMap { $0 } + bundles
        let paths = places.map { $0.deletingLastPathComponent().appendingPathComponent("upload").path }
        guard let program = paths.lazy.compactMap(Program.init).first else { throw NotFound() }
        self.program = program
    }

    /// - Parameter event: kills it as soon as this is so; `nil` to wait for its end.
    func run(_ arguments: [String], killedWhen event: (() throws -> Bool)? = nil) async throws -> Result {
        guard let env = Program("env") else { throw NotFound() }
        let command = ["TMPDIR=\(folder.url.path)", program.url.path] + arguments
        let (status, output) = try await env.run(command, in: folder) { process in
            guard let event else { return }
            try await eventually("it does not come so far", within: .seconds(30)) {
                try event() || !process.isRunning
            }
            if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        }
        return Result(status: status, output: output)
    }

    /// What it has printed up to now.
    var output: String {
        get throws { String(decoding: try folder.read("output"), as: UTF8.self) }
    }

    /// What is in its checkpoints.
    var checkpoints: [String] {
        get throws {
            let state = folder.file("state")
            guard FileManager.default.fileExists(atPath: state.path) else { return [] }
            return try FileManager.default.contentsOfDirectory(at: state, includingPropertiesForKeys: nil)
                .filter { $0.pathExtension == "checkpoint" }
                .map { try String(contentsOf: $0, encoding: .utf8) }
        }
    }
}
