import Foundation

extension Contestant {
    /// - Returns: `nil` when there is no curl on the PATH.
    static func curl() -> Contestant? {
        guard let path = find("curl") else { return nil }
        return Contestant(
            name: "curl",
            explanation: "curl -T, curl -F for the form, curl -Z for many",
            canDo: { $0.isPlain && ($0.uploadCount == 1 ? $0.body != .data : $0.body == .file) },
            command: { job, files, url in
                let trust = job.authority.map { ["--cacert", $0] } ?? []
                if job.uploadCount > 1 {
                    return Command(program: path, arguments: curlOptions + trust + (try manyFiles(job, files, url)))
                }
                return one(
                    job,
                    files.file(0),
                    [path] + curlOptions + trust + ["-o", "/dev/null", "-w", "%{time_total}"],
                    url
                )
            }
        )
    }

    /// No file of settings, and no waiting for a "100 Continue" that may not come.
    private static let curlOptions = ["-q", "-s", "-S", "-f", "--no-progress-meter", "-H", "Expect:"]

    private static func one(_ job: Job, _ file: URL, _ curl: [String], _ url: URL) -> Command {
        let url = url.absoluteString
        switch job.body {
        case .file, .data: return Command(program: curl[0], arguments: curl.dropFirst() + ["-T", file.path, url])
        case .form: return Command(program: curl[0], arguments: curl.dropFirst() + ["-F", "file=@\(file.path)", url])
        case .stream:
            // From a pipe, whose length curl cannot know.
            let script = #"cat "$0" | exec "$@""#
            return Command(program: "/bin/sh", arguments: ["-c", script, file.path] + curl + ["-T", "-", url])
        }
    }

    private static func manyFiles(_ job: Job, _ files: JobFiles, _ url: URL) throws -> [String] {
        let list = files.folder.appendingPathComponent("curl.config")
        try curlConfiguration(job, files, url.absoluteString).write(to: list, atomically: false, encoding: .utf8)
        return (job.width > 1 ? ["-Z", "--parallel-max", "\(job.width)"] : []) + ["--config", list.path]
    }

    private static func curlConfiguration(_ job: Job, _ files: JobFiles, _ url: String) -> String {
        (0..<job.uploadCount).map { index in
            #"""
            upload-file = "\#(files.file(index % job.fileCount).path)"
            url = "\#(url)"
            output = "/dev/null"

            """#
        }.joined()
    }
}
