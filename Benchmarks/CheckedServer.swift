import Foundation
import LoopbackServer

enum CheckedServer {
    /// What has come, as the server's process reports it.
    private struct Counts: Codable {
        /// Accepted uploads, by how many bytes they had.
        var uploads: [Int64: Int] = [:]
        /// Whatever else has come.
        var others = 0
    }

    /// Has something sent to a server in a process of its own, which shares nothing with those that are measured.
    ///
    /// - Parameters:
    ///   - count: How many uploads are expected.
    ///   - byteCount: How many bytes each of them should have.
    ///   - protocolName: `tus` or `ietf` for a server of resumable uploads.
    /// - Throws: also when anything else has arrived than that: nobody wins by failing.
    static func receive<Result>(
        _ count: Int,
        of byteCount: Int,
        by protocolName: String? = nil,
        from send: (URL) async throws -> Result
    ) async throws -> Result {
        let (process, input, output) = (Process(), Pipe(), Pipe())
        process.executableURL = Bundle.main.executableURL
        process.arguments = ["sink"] + (protocolName.map { [$0] } ?? [])
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        defer { process.terminate() }
        let result = try await send(try url(from: output.fileHandleForReading))
        try input.fileHandleForWriting.close()
        let report = try output.fileHandleForReading.readToEnd() ?? Data()
        let counts = try JSONDecoder().decode(Counts.self, from: report)
        guard counts.uploads == [Int64(byteCount): count], counts.others == 0 else {
            throw Failure(description: "expected \(count) uploads of \(byteCount) bytes, got: \(counts)")
        }
        return result
    }

    /// Prints a URL to send to, and at the end of standard input what has come.
    ///
    /// - Parameter protocolName: `tus` or `ietf` for resumable uploads.
    static func serveUntilInputEnds(by protocolName: String?) throws {
        let server = try LoopbackServer()
        let store = UploadStore(.count)
        switch protocolName {
        case "tus": TusServer(store: store).install(on: server, path: "/file")
        case "ietf": ResumableDraftServer(store: store).install(on: server, path: "/file")
        default: server.route("PUT", "/*", LoopbackServer.sink)
        }
        try FileHandle.standardOutput.write(contentsOf: Data("\(server.url("/file").absoluteString)\n".utf8))
        while readLine() != nil {}
        let snapshot = server.snapshot
        var counts = Counts(others: snapshot.rejections.count)
        for upload in store.uploads {
            if upload.isComplete { counts.uploads[upload.offset, default: 0] += 1 } else { counts.others += 1 }
        }
        for request in snapshot.requests where protocolName == nil {
            if request.status == 200, request.isComplete {
                counts.uploads[request.bodyByteCount, default: 0] += 1
            } else {
                counts.others += 1
            }
        }
        try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(counts))
    }

    private static func url(from output: FileHandle) throws -> URL {
        var line = Data()
        while let byte = try output.read(upToCount: 1), byte != Data("\n".utf8) { line += byte }
        guard let url = URL(string: String(decoding: line, as: UTF8.self)), url.port != nil else {
            throw Failure(description: "the server did not start")
        }
        return url
    }
}
