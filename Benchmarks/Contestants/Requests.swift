import Foundation

extension Contestant {
    /// Python's.
    ///
    /// - Returns: `nil` when there is no `python3` that has it.
    static func requests() -> Contestant? {
        guard let path = find("python3"), (try? ProcessUsage(running: path, ["-c", "import requests"])) != nil else {
            return nil
        }
        return Contestant(
            name: "requests",
            explanation: "Python's requests, a session a thread",
            canDo: { $0.isPlain && $0.body != .form },
            command: { job, files, url in
                let numbers = [job.byteCount, job.uploadCount, job.width, job.fileCount].map { "\($0)" }
                return Command(
                    program: path,
                    arguments: ["-c", script, job.body.rawValue, files.folder.path, url.absoluteString] + numbers,
                    environment: job.authority.map { ["REQUESTS_CA_BUNDLE": $0] } ?? [:]
                )
            }
        )
    }

    private static let script = """
        import sys, threading, time, requests
        from concurrent.futures import ThreadPoolExecutor
        kind, folder, url = sys.argv[1:4]
        size, uploads, width, files = map(int, sys.argv[4:8])
        local = threading.local()
        data = b"x" * size if kind == "data" else None
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
}
