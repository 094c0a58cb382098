import Foundation
import LoopbackServer

/// What receives uploads, in a process of its own, which shares nothing with those that are measured.
enum SinkServer {
    enum Kind: String, CaseIterable {
        case plain, tus, ietf
        /// For many uploads of known length.
        case lean
        /// A link of 100 Mbit/s with 40 ms to the server and back.
        case link
        case tls
    }

    /// What has come, as the server's process reports it.
    private struct Arrivals: Codable {
        /// Accepted uploads: how many bytes each had.
        var uploads: [Int64] = []
        /// Whatever else has come.
        var others = 0
    }

    /// Has something sent to a server.
    ///
    /// - Throws: also when anything else has arrived than what the job says: nobody wins by failing.
    static func receive<Result>(
        _ job: Job,
        _ kind: Kind,
        from send: (URL) async throws -> Result
    ) async throws -> Result {
        let (process, input, output) = (Process(), Pipe(), Pipe())
        if kind == .tls {
            try TLSSink.configure(process, job)
        } else {
            process.executableURL = Bundle.main.executableURL
            process.arguments = ["sink", kind.rawValue]
        }
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        // Its descriptors would stay open here until it has been waited for.
        defer {
            process.terminate()
            process.waitUntilExit()
        }
        let result = try await send(try url(from: output.fileHandleForReading))
        try input.fileHandleForWriting.close()
        let report = try output.fileHandleForReading.readToEnd() ?? Data()
        let arrivals = try JSONDecoder().decode(Arrivals.self, from: report)
        let accepted = arrivals.uploads.filter(job.accepts).count
        guard accepted == job.uploadCount, accepted == arrivals.uploads.count, arrivals.others == 0 else {
            throw Failure(
                description: "expected \(job.uploadCount) uploads of \(job.byteCount) bytes; "
                    + "\(accepted) of \(arrivals.uploads.count) were such, and \(arrivals.others) others came"
            )
        }
        return result
    }

    private static func url(from output: FileHandle) throws -> URL {
        var line = Data()
        while let byte = try output.read(upToCount: 1), byte != Data("\n".utf8) { line += byte }
        guard let url = URL(string: String(decoding: line, as: UTF8.self)), url.port != nil else {
            throw Failure(description: "the server did not start")
        }
        return url
    }

    // MARK: In the server's process

    /// 100 Mbit/s.
    private static let linkBytesPerSecond = 12_500_000
    private static let linkRoundTrip = 0.04

    /// Prints a URL to send to, and at the end of standard input what has come.
    static func serveUntilInputEnds(_ kind: Kind) throws {
        if kind == .lean { return try serveLean() }
        // What waits in the system's buffers would not be slowed down by a slow reader.
        let server = try LoopbackServer(receiveBufferSize: kind == .link ? 64 << 10 : nil)
        let store = UploadStore(.count)
        switch kind {
        case .tus: TusServer(store: store).install(on: server, path: "/file")
        case .ietf: ResumableDraftServer(store: store).install(on: server, path: "/file")
        case .link:
            server.route(nil, "/*") { exchange in
                try exchange.readBody(bytesPerSecond: linkBytesPerSecond)
                Thread.sleep(forTimeInterval: linkRoundTrip)
                try exchange.respond(200)
            }
        case .plain, .lean, .tls: server.route(nil, "/*", LoopbackServer.sink)
        }
        try tell(server.url("/file").absoluteString) {
            arrivals(server.snapshot, kind == .tus || kind == .ietf ? store : nil)
        }
    }

    private static func serveLean() throws {
        let sink = try LeanSink()
        try tell("http://127.0.0.1:\(sink.port)/file") {
            let arrivals = sink.arrivals
            return Arrivals(uploads: arrivals.uploads, others: arrivals.others)
        }
    }

    /// - Parameter arrivals: called when standard input has ended.
    private static func tell(_ url: String, _ arrivals: () -> Arrivals) throws {
        try FileHandle.standardOutput.write(contentsOf: Data("\(url)\n".utf8))
        while readLine() != nil {}
        try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(arrivals()))
    }

    private static func arrivals(_ snapshot: LoopbackServer.Snapshot, _ store: UploadStore?) -> Arrivals {
        var arrivals = Arrivals(others: snapshot.rejections.count)
        if let store {
            for upload in store.uploads {
                if upload.isComplete { arrivals.uploads.append(upload.offset) } else { arrivals.others += 1 }
            }
            return arrivals
        }
        for request in snapshot.requests {
            if request.status == 200, request.isComplete {
                arrivals.uploads.append(request.bodyByteCount)
            } else {
                arrivals.others += 1
            }
        }
        return arrivals
    }
}
