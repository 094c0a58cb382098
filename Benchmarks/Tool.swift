import Foundation

/// A program that sends a file.
struct Tool: Hashable {
    let name: String
    let path: String
    private let options: [String]

    /// The `upload` of the build that is running.
    static func upload() throws -> Tool {
        let folder = Bundle.main.executableURL?.deletingLastPathComponent()
        let path = folder?.appendingPathComponent("upload").path ?? "upload"
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw Failure(description: "\(path) is missing; build it with: swift build -c release")
        }
        return Tool(name: "upload", path: path, options: ["--progress", "none", "-s"])
    }

    /// - Returns: `nil` when it is not on the PATH.
    static func curl() -> Tool? {
        let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
        let paths = folders.map { "\($0)/curl" }
        guard let path = paths.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else { return nil }
        // No file of settings, nothing to print, and no waiting for a "100 Continue" that may not come.
        return Tool(name: "curl", path: path, options: ["-q", "-s", "-o", "/dev/null", "-H", "Expect:", "-T"])
    }

    func arguments(sending file: URL, to url: URL) -> [String] {
        options + [file.path, url.absoluteString]
    }
}
