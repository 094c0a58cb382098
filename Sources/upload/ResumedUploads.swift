import AsyncUpload
import Foundation

/// Which uploads go on with what was sent before: bytes that do not count for their rate.
// `lock` protects `urls`.
final class ResumedUploads: @unchecked Sendable {
    private let lock = NSLock()
    private var urls: Set<URL> = []

    func note(_ activity: UploadActivity) {
        guard case .resumption = activity.event, let url = activity.url else { return }
        lock.withLock { _ = urls.insert(url) }
    }

    func contains(_ job: Job) -> Bool {
        job.request.url.map { url in lock.withLock { urls.contains(url) } } ?? false
    }
}
