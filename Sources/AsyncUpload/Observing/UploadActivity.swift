public import Foundation

/// Something that happened to an upload, for a log.
///
/// Its description is one line without a secret: no header field, no user and no query of a URL.
public struct UploadActivity: Sendable, CustomStringConvertible {
    /// What it was.
    public enum Event: Sendable {
        /// The upload has its turn, and is about to send its first request.
        case start
        /// A request has ended, whichever way.
        case transaction(UploadMetrics.Transaction)
        /// The upload waits before it is attempted again.
        case wait(Duration, after: UploadError)
        /// The upload has failed and is attempted again at once, since an interceptor wants it to be.
        case recovery(from: UploadError)
        /// A resumable upload goes on where an earlier one, of this process or another, has ended.
        case resumption
        /// A resumable upload begins at its start although there is a checkpoint of it, for that reason.
        case freshStart(reason: String)
        /// A resumable upload is paused, or goes on after that.
        case pause, continuation
        /// What the server had of a resumable upload that nobody goes on with was removed, or that has failed.
        case removal(UploadError?)
        /// The upload has its response.
        case success(UploadMetrics)
        /// The upload has failed, with an ``UploadError``, or was cancelled, with `CancellationError`.
        case failure(any Error)
    }

    /// A number that all activities of an upload have in common, and no others of its uploader.
    public var uploadIdentifier: Int

    /// The method of the upload's request.
    public var method: String

    /// Where the upload was addressed to.
    public var url: URL?

    /// What happened.
    public var event: Event

    /// Makes an activity; of use in tests.
    public init(uploadIdentifier: Int, method: String, url: URL?, event: Event) {
        self.uploadIdentifier = uploadIdentifier
        self.method = method
        self.url = url
        self.event = event
    }

    public var description: String {
        "upload \(uploadIdentifier) \(method) \(Self.place(url)): \(event.words)"
    }

    fileprivate static func place(_ url: URL?) -> String {
        guard let url, let host = url.host(percentEncoded: true) else { return "(no URL)" }
        let port = url.port.map { ":\($0)" } ?? ""
        return "\(url.scheme ?? "")://\(host)\(port)\(url.path(percentEncoded: true))"
    }
}

extension UploadActivity.Event {
    fileprivate var words: String {
        switch self {
        case .start: "starts"
        case .transaction(let transaction): transaction.words
        case .wait(let delay, let error): "waits \(delay.inSeconds) after \(error.reason)"
        case .recovery(let error): "begins again after \(error.reason)"
        case .resumption: "goes on with what was begun earlier"
        case .freshStart(let reason): "begins afresh: \(reason)"
        case .pause: "is paused"
        case .continuation: "goes on"
        case .removal(nil): "was removed at the server"
        case .removal(let error?): "could not be removed at the server: \(error.reason)"
        case .success(let metrics):
            "succeeded after \(metrics.attempts) requests and \(metrics.duration.inSeconds), \(metrics.bytesSent) bytes"
        case .failure(let error): "failed: \((error as? UploadError)?.reason ?? "cancelled")"
        }
    }
}

extension UploadMetrics.Transaction {
    fileprivate var words: String {
        let end = statusCode.map { "status \($0)" } ?? errorCode.map { "\($0)" } ?? "cancelled"
        let connection = [
            networkProtocolName, remoteAddress.map { "to \($0)" }, isReusedConnection == true ? "reused" : nil,
        ]
        let facts = connection.compactMap { $0 }.joined(separator: " ")
        return "request to \(UploadActivity.place(url)) \(end), \(bytesSent) bytes in \((self.end - start).inSeconds)"
            + (facts.isEmpty ? "" : " (\(facts))")
    }
}

extension UploadError {
    /// The status, or the kind of failure, in a few words.
    var reason: String {
        if code == .unacceptableStatus, let response { return "\(response.statusCode)" }
        return shortDescription
    }
}

extension Duration {
    /// To the millisecond.
    fileprivate var inSeconds: String {
        let milliseconds = Int64((self / .milliseconds(1)).rounded())
        return "\(Double(milliseconds) / 1000) s"
    }
}
