import AsyncUpload
import Foundation
import LoopbackServer

/// How long it takes from cancelling uploads in the middle of their bodies until their connections are closed and nothing of
/// them is left.
enum CancelLatency {
    static let uploadCounts = [1, 100]

    static func measure(uploadCount: Int) async throws -> Measurement {
        let server = try LoopbackServer()
        server.route("PUT", "/*") { $0.hold() }
        let uploader = Uploader { $0.maximumUploadsInFlight = uploadCount }
        let data = Data(count: 64 << 20)
        let tasks = (0..<uploadCount).map { _ in uploader.task(for: .put(to: server.url("/")), from: data) }
        for task in tasks {
            for await progress in task.progress where progress.bytesSent > 0 { break }
        }
        let start = ContinuousClock.now
        await uploader.shutDown(.cancelling)
        let duration = ContinuousClock.now - start
        server.stop()
        return Measurement(inProcessSeconds: duration / .seconds(1))
    }
}
