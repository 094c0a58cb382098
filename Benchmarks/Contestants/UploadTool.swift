import Foundation

extension Contestant {
    /// The `upload` of the build that is running.
    static func uploadTool() throws -> Contestant {
        let folder = Bundle.main.executableURL?.deletingLastPathComponent()
        let path = folder?.appendingPathComponent("upload").path ?? "upload"
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw Failure(description: "\(path) is missing; build it with: swift build -c release")
        }
        return Contestant(
            name: "upload",
            explanation: "the tool of this package",
            canDo: { $0.uploadCount == 1 && $0.body == .file && $0.isPlain },
            command: { job, files, url in
                let trust = job.authority.map { ["--cacert", $0] } ?? []
                return Command(
                    program: path,
                    arguments: ["--progress", "none", "-s"] + trust + [files.file(0).path, url.absoluteString]
                )
            }
        )
    }
}
