import AsyncUpload
import Foundation

/// What `-v` tells, in curl's manner: `>` goes out, `<` comes in, `*` is about both.
///
/// No query of a URL is told: it may be what gives access.
enum VerboseLog {
    static func start(_ job: Job) -> String {
        let target = "\(job.request.httpMethod ?? "PUT") \(place(job.request.url))"
        return SafeText.escaped("> \(target) (\(job.label), \(job.extent))")
    }

    /// A line about what happens before the end, if there is something to tell that the end does not.
    ///
    /// - Parameter number: which request of the upload it is about.
    static func line(_ event: UploadActivity.Event, label: String, number: Int) -> String? {
        switch event {
        case .transaction(let transaction):
            SafeText.escaped("* \(label): request \(number) to \(words(transaction))")
        case .wait(let delay, let error):
            SafeText.escaped("* \(label): retrying in \(seconds(delay)) (\(RetryWords.reason(error)))")
        case .recovery(let error):
            SafeText.escaped("* \(label): retrying (\(RetryWords.reason(error)))")
        case .resumption: SafeText.escaped("* \(label): going on with what was sent before")
        case .freshStart(let reason): SafeText.escaped("* \(label): starting afresh, since \(reason)")
        case .removal(nil): SafeText.escaped("* \(label): removed at the server")
        case .removal(let error?): SafeText.escaped("* \(label): not removed (\(RetryWords.reason(error)))")
        case .start, .pause, .continuation, .success, .failure: nil
        }
    }

    static func end(_ outcome: Outcome, of job: Job) -> [String] {
        let told =
            switch outcome {
            case .accepted(let response): lines(response, of: job)
            case .failed(let error): error.response.map { lines($0, of: job) } ?? ["* \(job.label): no response"]
            case .interrupted: ["* \(job.label): stopped"]
            }
        return told.map(SafeText.escaped)
    }

    private static func lines(_ response: UploadResponse, of job: Job) -> [String] {
        let metrics = response.metrics
        var lines = ["< \(response.statusCode)"]
        lines += response.headers.map { "< \($0.name): \($0.value)" }
        let received = "received \(response.body?.count ?? 0) bytes"
        let requests = metrics.attempts == 1 ? "1 request" : "\(metrics.attempts) requests"
        lines.append("* \(job.label): \(received), \(requests) in \(seconds(metrics.duration))")
        return lines
    }

    private static func words(_ transaction: UploadMetrics.Transaction) -> String {
        let end =
            transaction.statusCode.map { "\($0)" } ?? transaction.errorCode.map { RetryWords.reason($0) } ?? "stopped"
        let facts = [
            transaction.networkProtocolName, transaction.remoteAddress,
            transaction.isReusedConnection == true ? "same connection" : nil,
        ]
        let connection = facts.compactMap { $0 }.joined(separator: ", ")
        let time = seconds(transaction.end - transaction.start)
        return "\(place(transaction.url)): \(end), sent \(transaction.bytesSent) bytes in \(time)"
            + (connection.isEmpty ? "" : " (\(connection))")
    }

    /// The URL without what may be secret in it; `?...` tells that there is a query.
    private static func place(_ url: URL?) -> String {
        guard let url, var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return "" }
        let hasQuery = parts.percentEncodedQuery != nil
        (parts.user, parts.password, parts.percentEncodedQuery, parts.fragment) = (nil, nil, nil, nil)
        return (parts.string ?? "") + (hasQuery ? "?..." : "")
    }

    private static func seconds(_ duration: Duration) -> String {
        String(format: "%.3f s", duration / .seconds(1))
    }
}
