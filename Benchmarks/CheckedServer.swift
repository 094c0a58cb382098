import Foundation

enum CheckedServer {
    /// Has something sent to a server in a process of its own, which shares nothing with those that are measured.
    ///
    /// - Parameters:
    ///   - count: How many uploads are expected.
    ///   - byteCount: How many bytes each of them should have.
    /// - Throws: also when anything else has arrived than that: nobody wins by failing.
    static func receive<Result>(
        _ count: Int,
        of byteCount: Int,
        from send: (URL) async throws -> Result
    ) async throws -> Result {
        let (process, input, output) = (Process(), Pipe(), Pipe())
        process.executableURL = Bundle.main.executableURL
        process.arguments = ["sink"]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        defer { process.terminate() }
        let result = try await send(try url(from: output.fileHandleForReading))
        try input.fileHandleForWriting.close()
        let report = try output.fileHandleForReading.readToEnd() ?? Data()
        let counts = try JSONDecoder().decode(SinkServer.Counts.self, from: report)
        guard counts.uploads == [byteCount: count], counts.rejections == 0 else {
            throw Failure(description: "expected \(count) uploads of \(byteCount) bytes, got: \(counts)")
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
}
