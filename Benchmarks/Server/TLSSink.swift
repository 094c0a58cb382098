import Foundation

/// A server that is reached through TLS, with a certificate of its own: made of what is mostly there, `python3` and `openssl`.
enum TLSSink {
    /// - Returns: what is missing, `nil` when nothing is.
    static var whatIsMissing: String? {
        ["python3", "openssl"].first { Contestant.find($0) == nil }
    }

    /// Makes a certificate and its key in a folder.
    ///
    /// - Returns: the path of the certificate; the key has the same one with `.key` behind it.
    static func makeCertificate(in folder: URL) throws -> String {
        let path = folder.appendingPathComponent("server.pem").path
        _ = try ProcessUsage(
            running: "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                "-keyout", "\(path).key", "-out", path, "-batch",
            ]
        )
        return path
    }

    static let raceName = "tls-1GiB"

    /// One file of 1 GiB by whoever can be told whom to trust.
    static func race(_ setting: Setting) async throws -> Report.Section {
        if let missing = whatIsMissing {
            let notes = ["There is no \(missing)."]
            return Report.Section(name: raceName, title: "TLS", shows: [], rows: [], notes: notes)
        }
        return try await TemporaryFolder.with { folder in
            var job = Job(byteCount: 1 << 30)
            job.authority = try makeCertificate(in: folder)
            return try await Race(
                raceName,
                "One file of 1 GiB through TLS",
                on: .tls,
                job,
                setting.contestants,
                shows: [
                    .megabytesPerSecond, .processMegabytesPerSecond, .processorSecondsPerGibibyte, .peakMebibytes,
                ]
            ).run(setting.rounds)
        }
    }

    static func configure(_ process: Process, _ job: Job) throws {
        guard let authority = job.authority, let python = Contestant.find("python3") else {
            throw Failure(description: "there is no python3, or no certificate")
        }
        process.executableURL = URL(fileURLWithPath: python)
        process.arguments = ["-c", script, authority]
    }

    private static let script = #"""
        import json, re, socket, ssl, sys, threading
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[1] + ".key")
        listener = socket.create_server(("127.0.0.1", 0))
        print(f"https://127.0.0.1:{listener.getsockname()[1]}/file", flush=True)
        uploads, others = [], 0
        def serve(plain):
            global others
            buffer = memoryview(bytearray(1 << 18))
            try:
                connection = context.wrap_socket(plain, server_side=True)
                while True:
                    head = b""
                    while b"\r\n\r\n" not in head:
                        piece = connection.recv(65536)
                        if not piece:
                            return
                        head += piece
                    head, _, rest = head.partition(b"\r\n\r\n")
                    length = int(re.search(rb"(?i)\r\ncontent-length: *(\d+)", head).group(1))
                    count = len(rest)
                    while count < length:
                        received = connection.recv_into(buffer)
                        if not received:
                            raise EOFError
                        count += received
                    uploads.append(count)
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            except (OSError, EOFError, AttributeError):
                others += 1
        def accept():
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        threading.Thread(target=accept, daemon=True).start()
        sys.stdin.read()
        print(json.dumps({"uploads": uploads, "others": others}))
        """#
}
