import Foundation
import LoopbackServer

enum CheckedServer {
    /// Has something sent to a server of its own.
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
        let server = try LoopbackServer()
        server.route("PUT", "/*", LoopbackServer.sink)
        let result = try await send(server.url("/file"))
        let snapshot = server.snapshot
        let complete = snapshot.requests.count {
            $0.status == 200 && $0.isComplete && $0.bodyByteCount == Int64(byteCount)
        }
        guard complete == count, snapshot.requests.count == count, snapshot.rejections.isEmpty else {
            throw Failure(description: "expected \(count) uploads of \(byteCount) bytes, got: \(snapshot)")
        }
        return result
    }
}
