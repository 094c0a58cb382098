import Foundation

/// A way to run the tool as nobody, where the tests run as root.
struct Unprivileged {
    static let prefix = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

    let executable: URL

    /// Copies the executable to where everybody can get at it.
    init(_ tool: Tool) throws {
        guard let original = Tool.executable else { throw Tool.NotFound() }
        executable = tool.folder.url.appendingPathComponent("upload")
        try FileManager.default.copyItem(at: original, to: executable)
        chmod(executable.path, 0o755)
        chmod(tool.folder.url.path, 0o755)
    }

    /// Only root can become somebody else; and nobody has to be able to load the libraries.
    static let isPossible: Bool = {
        guard getuid() == 0, FileManager.default.isExecutableFile(atPath: prefix[0]),
            let tool = try? Tool(), let unprivileged = try? Unprivileged(tool)
        else { return false }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: prefix[0])
        process.arguments = Array(prefix.dropFirst()) + [unprivileged.executable.path, "--version"]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()
}
