import AsyncUpload
import Foundation
import LoopbackServer

/// How long it takes from cancelling an upload in the middle of its body until its connection is closed and nothing of it
/// is left.
enum CancelLatency {
    static func report(rounds: Int) async throws {
        let latency = Spread(try await measure(rounds: rounds))
        print(
            "\nFrom cancelling to the end of the connection: \(latency.median.text(1)) ms (median of \(rounds)), "
                + "\(latency.most.text(1)) ms (longest)."
        )
    }

    /// - Returns: the milliseconds of each round.
    private static func measure(rounds: Int) async throws -> [Double] {
        let server = try LoopbackServer()
        server.route("PUT", "/*") { $0.hold() }
        let data = Data(count: 64 << 20)
        var milliseconds: [Double] = []
        for _ in 0..<rounds {
            let uploader = Uploader()
            let task = uploader.task(for: .put(to: server.url("/")), from: data)
            for await progress in task.progress where progress.bytesSent > 0 { break }
            let start = ContinuousClock.now
            await uploader.shutDown(.cancelling)
            milliseconds.append((ContinuousClock.now - start) / .milliseconds(1))
        }
        return milliseconds
    }
}
