import AsyncUpload
import Foundation

/// Does a job with one session of Foundation's.
struct FoundationSender {
    private let job: Job
    private let way: Child
    private let session: URLSession
    private let delegate = Delegate()

    init(_ job: Job, _ way: Child) {
        self.job = job
        self.way = way
        let configuration = URLSessionConfiguration.default
        configuration.httpMaximumConnectionsPerHost = job.width
        session = URLSession(
            configuration: configuration,
            delegate: way == .foundationDelegate ? delegate : nil,
            delegateQueue: nil
        )
    }

    func run(_ files: [URL], _ data: Data?, with request: URLRequest) async throws {
        try await job.run { [self] number in
            let response = try await response(files[number], data, with: request)
            guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.badServerResponse) }
        }
    }

    private func response(_ file: URL, _ data: Data?, with request: URLRequest) async throws -> URLResponse? {
        switch way {
        case .foundationData:
            return try await session.upload(for: request, from: try data ?? Data(contentsOf: file)).1
        case .foundationDelegate:
            return try await delegate.response(to: session.uploadTask(with: request, fromFile: file))
        default:
            return try await session.upload(for: request, fromFile: file).1
        }
    }
}

/// Waits for tasks, and is told of their progress on the way.
// `lock` protects `waiting`.
private final class Delegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private let lock = NSLock()
    private var waiting: [Int: CheckedContinuation<URLResponse?, any Error>] = [:]

    func response(to task: URLSessionTask) async throws -> URLResponse? {
        try await withCheckedThrowingContinuation { continuation in
            lock.withLock { waiting[task.taskIdentifier] = continuation }
            task.resume()
        }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {}

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let continuation = lock.withLock { waiting.removeValue(forKey: task.taskIdentifier) }
        if let error { continuation?.resume(throwing: error) } else { continuation?.resume(returning: task.response) }
    }
}
