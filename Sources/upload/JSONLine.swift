import AsyncUpload
import Foundation

/// The events of `--progress json`: one object a line.
enum JSONLine {
    static func progress(file: String, _ progress: UploadProgress) -> String {
        line(
            Progress(
                file: file,
                fraction: finite(progress.fraction),
                bytesSent: progress.bytesSent,
                totalBytes: progress.totalBytes,
                bytesPerSecond: Int64(exactly: finite(progress.bytesPerSecond).rounded()) ?? 0,
                attempt: progress.attempt,
                retryingIn: progress.retryingIn.map { (finite($0 / .seconds(1)) * 1000).rounded() / 1000 },
                retryReason: progress.retryReason
            )
        )
    }

    /// - Parameter attempt: which request was under way, for what does not tell itself.
    static func end(file: String, _ outcome: Outcome, attempt: Int) -> String {
        switch outcome {
        case .accepted(let response):
            line(
                Response(
                    file: file,
                    status: response.statusCode,
                    headers: Dictionary(response.headers.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }),
                    bytesReceived: response.body?.count ?? 0,
                    attempts: response.metrics.attempts,
                    seconds: finite(response.metrics.duration / .seconds(1))
                )
            )
        case .failed(let error):
            self.error(
                file: file,
                code: error.code.description,
                message: ErrorLine.message(error, path: file),
                status: error.response?.statusCode,
                attempts: error.attempts
            )
        case .interrupted:
            error(file: file, code: "interrupted", message: "Interrupted", attempts: attempt)
        }
    }

    static func error(file: String, code: String, message: String, status: Int? = nil, attempts: Int = 0) -> String {
        line(Failure(file: file, code: code, status: status, message: message, attempts: attempts))
    }

    // MARK: Objects

    /// What is not known is `null`, so that every line has all keys, but for those of a wait.
    private struct Progress: Encodable {
        let event = "progress"
        let file: String
        let fraction: Double
        let bytesSent: Int64
        let totalBytes: Int64?
        let bytesPerSecond: Int64
        let attempt: Int
        let retryingIn: Double?
        let retryReason: String?

        private enum Key: CodingKey {
            case event, file, fraction, bytesSent, totalBytes, bytesPerSecond, attempt, retryingIn, retryReason
        }

        func encode(to encoder: any Encoder) throws {
            var object = encoder.container(keyedBy: Key.self)
            try object.encode(event, forKey: .event)
            try object.encode(file, forKey: .file)
            try object.encode(fraction, forKey: .fraction)
            try object.encode(bytesSent, forKey: .bytesSent)
            try object.encode(totalBytes, forKey: .totalBytes)
            try object.encode(bytesPerSecond, forKey: .bytesPerSecond)
            try object.encode(attempt, forKey: .attempt)
            try object.encodeIfPresent(retryingIn, forKey: .retryingIn)
            try object.encodeIfPresent(retryReason, forKey: .retryReason)
        }
    }

    private struct Response: Encodable {
        let event = "response"
        let file: String
        let status: Int
        let headers: [String: String]
        let bytesReceived: Int
        let attempts: Int
        let seconds: Double
    }

    private struct Failure: Encodable {
        let event = "error"
        let file: String
        let code: String
        let status: Int?
        let message: String
        let attempts: Int

        private enum Key: CodingKey {
            case event, file, code, status, message, attempts
        }

        func encode(to encoder: any Encoder) throws {
            var object = encoder.container(keyedBy: Key.self)
            try object.encode(event, forKey: .event)
            try object.encode(file, forKey: .file)
            try object.encode(code, forKey: .code)
            try object.encode(status, forKey: .status)
            try object.encode(message, forKey: .message)
            try object.encode(attempts, forKey: .attempts)
        }
    }

    // MARK: Text

    private static func line(_ object: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(object) else { return "" }
        return escapingTerminalCharacters(String(decoding: data, as: UTF8.self)) + "\n"
    }

    /// JSON itself allows DEL, the C1 controls and the Unicode line ends inside of strings; terminals and line readers
    /// do not take them as they are meant.
    private static func escapingTerminalCharacters(_ json: String) -> String {
        guard json.unicodeScalars.contains(where: isUnfit) else { return json }
        var result = ""
        for scalar in json.unicodeScalars {
            if isUnfit(scalar) {
                result += String(format: "\\u%04x", scalar.value)
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func isUnfit(_ scalar: Unicode.Scalar) -> Bool {
        (0x7f...0x9f).contains(scalar.value) || scalar.value == 0x2028 || scalar.value == 0x2029
    }

    private static func finite(_ number: Double) -> Double {
        number.isFinite ? number : 0
    }
}
