import Foundation

/// Other programs, as far as they are on the machine.
extension Contestant {
    /// The `upload` of the build that is running.
    static func uploadTool() throws -> Contestant {
        let folder = Bundle.main.executableURL?.deletingLastPathComponent()
        let path = folder?.appendingPathComponent("upload").path ?? "upload"
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw Failure(description: "\(path) is missing; build it with: swift build -c release")
        }
        return Contestant(name: "upload", explanation: "the tool of this package") { job, files, url in
            guard job.uploadCount == 1, job.body == .file, job.isPlain else { return nil }
            let trust = job.authority.map { ["--cacert", $0] } ?? []
            return Command(
                program: path,
                arguments: ["--progress", "none", "-s"] + trust + [files.file(0).path, url.absoluteString]
            )
        }
    }

    static func curl() -> Contestant? {
        guard let path = find("curl") else { return nil }
        // No file of settings, and no waiting for a "100 Continue" that may not come.
        let options = ["-q", "-s", "-S", "-f", "-H", "Expect:"]
        return Contestant(name: "curl", explanation: "curl -T, curl -F for the form, curl -Z for many") {
            job,
            files,
            url in
            guard job.isPlain else { return nil }
            let url = url.absoluteString
            let trust = job.authority.map { ["--cacert", $0] } ?? []
            if job.uploadCount > 1 {
                guard job.body == .file else { return nil }
                let list = files.folder.appendingPathComponent("curl.config")
                try curlConfiguration(job, files, url).write(to: list, atomically: false, encoding: .utf8)
                let parallel = job.width > 1 ? ["-Z", "--parallel-max", "\(job.width)"] : []
                return Command(program: path, arguments: options + trust + parallel + ["--config", list.path])
            }
            let told = ["-o", "/dev/null", "-w", "%{time_total}"]
            switch job.body {
            case .file:
                return Command(program: path, arguments: options + trust + told + ["-T", files.file(0).path, url])
            case .form:
                let field = "file=@\(files.file(0).path)"
                return Command(program: path, arguments: options + trust + told + ["-F", field, url])
            case .stream:
                // From a pipe, whose length curl cannot know.
                let script = #"cat "$0" | exec "$@""#
                let arguments = [path] + options + trust + told + ["-T", "-", url]
                return Command(program: "/bin/sh", arguments: ["-c", script, files.file(0).path] + arguments)
            case .data: return nil
            }
        }
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

    /// Python's, where a `python3` has it.
    static func requests() -> Contestant? {
        guard let path = find("python3"), (try? ProcessUsage(running: path, ["-c", "import requests"])) != nil else {
            return nil
        }
        return Contestant(name: "requests", explanation: "Python's requests, a session a thread") { job, files, url in
            guard job.isPlain, job.body != .form else { return nil }
            let numbers = [job.byteCount, job.uploadCount, job.width, job.fileCount].map { "\($0)" }
            return Command(
                program: path,
                arguments: ["-c", script, job.body.rawValue, files.folder.path, url.absoluteString] + numbers,
                environment: job.authority.map { ["REQUESTS_CA_BUNDLE": $0] } ?? [:]
            )
        }
    }

    private static let script = """
        import sys, threading, time, requests
        from concurrent.futures import ThreadPoolExecutor
        kind, folder, url = sys.argv[1:4]
        size, uploads, width, files = map(int, sys.argv[4:8])
        local = threading.local()
        data = bytes(size) if kind == "data" else None
        def pieces(file):
            while piece := file.read(65536):
                yield piece
        def send(number):
            if not hasattr(local, "session"):
                local.session = requests.Session()
            if kind == "data":
                local.session.put(url, data=data).raise_for_status()
                return
            with open(f"{folder}/{number % files}", "rb") as file:
                body = pieces(file) if kind == "stream" else file
                local.session.put(url, data=body).raise_for_status()
        start = time.monotonic()
        with ThreadPoolExecutor(width) as pool:
            list(pool.map(send, range(uploads)))
        print(time.monotonic() - start)
        """

    /// One that the command line names, as in `name=command with {file} and {url}`, for the shell.
    ///
    /// - Returns: `nil` when it is not of that form.
    static func outside(_ description: String) -> Contestant? {
        guard let separator = description.firstIndex(of: "="), separator > description.startIndex else { return nil }
        let template = String(description[description.index(after: separator)...])
        guard template.contains("{file}"), template.contains("{url}") else { return nil }
        return Contestant(
            name: String(description[..<separator]),
            explanation: template,
            command: { job, files, url in
                guard job.uploadCount == 1, job.body == .file, job.isPlain, job.authority == nil else { return nil }
                let command = template.replacing("{file}", with: quoted(files.file(0).path))
                    .replacing("{url}", with: quoted(url.absoluteString))
                return Command(program: "/bin/sh", arguments: ["-c", command])
            },
            seconds: { _ in nil }
        )
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("'", with: #"'\''"#) + "'"
    }
}
