import AsyncUpload
import Foundation

/// What `-v` tells, in curl's manner: `>` goes out, `<` comes in, `*` is about both.
enum VerboseLog {
    static func start(_ job: Job) -> String {
        let target = "\(job.request.httpMethod ?? "PUT") \(job.request.url?.absoluteString ?? "")"
        return SafeText.escaped("> \(target) (\(job.label), \(job.extent))")
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
        let seconds = String(format: "%.3f", metrics.duration / .seconds(1))
        var lines: [String] = []
        if metrics.attempts > 1 {
            lines.append("* \(metrics.attempts) requests, the last one to \(response.url?.absoluteString ?? "")")
        }
        lines.append("< \(response.statusCode)")
        lines += response.headers.map { "< \($0.name): \($0.value)" }
        let received = response.body?.count ?? 0
        lines.append("* \(job.label): sent \(metrics.bytesSent), received \(received) bytes in \(seconds) s")
        return lines
    }
}
