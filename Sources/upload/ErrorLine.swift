import AsyncUpload
import Foundation

/// The one line that tells what went wrong and what can be done about it.
enum ErrorLine {
    static let interrupted = "upload: interrupted"

    /// What was sent is not lost: of an upload that another process can go on with.
    static func stopped(label: String) -> String {
        text(label: label, what: "Stopped", advice: "The same command continues")
    }

    /// `upload: movie.mp4: <what happened>. <what to do>.`
    ///
    /// - Parameter path: the file's path if it is not the label.
    static func text(label: String, _ error: UploadError, path: String? = nil) -> String {
        let what = message(error.cause, path: path ?? label)
        return text(label: label, what: what + requests(error, after: what), advice: advice(error))
    }

    static func text(label: String, what: String, advice: String?) -> String {
        let sentences = [what, advice].compactMap { $0 }.map(SafeText.escaped).filter { !$0.isEmpty }
        let ended = sentences.map { $0.hasSuffix(".") || $0.hasSuffix("!") || $0.hasSuffix("?") ? $0 : $0 + "." }
        return "upload: \(SafeText.escaped(label)): \(ended.joined(separator: " "))"
    }

    /// What happened, without a full stop. The path is not said again when it is the line's own.
    static func message(_ error: UploadError, path: String) -> String {
        if let failure = error.underlying as? PartURLFailure { return "No URLs for the parts: \(failure.reason)" }
        // The file of the checkpoint is of no use to anybody.
        if error.code == .checkpointInUse { return error.shortDescription }
        if let detail = error.detail, detail == FilePath.absolute(path) || detail == path {
            return error.shortDescription
        }
        return error.errorDescription ?? error.shortDescription
    }

    /// How many requests have failed, where that is more than one; a redirect that was followed is no failure.
    private static func requests(_ error: UploadError, after text: String) -> String {
        guard error.attempts - error.metrics.redirectCount > 1 else { return "" }
        return text.hasSuffix(".") ? " After \(error.attempts) requests" : ", after \(error.attempts) requests"
    }

    /// What makes no sense to somebody in front of a terminal is not said.
    private static func advice(_ error: UploadError) -> String? {
        switch error.code {
        case .unacceptableStatus: error.response?.body == nil ? nil : error.recoverySuggestion
        case .interceptorFailed where error.underlying is PartURLFailure: "Check --part-urls"
        case .transferFailed where error.detail != nil: nil
        case .bodyNotReplayable where error.cause.code != .bodyNotReplayable:
            "Standard input cannot be sent twice: put it into a file and send that"
        case .bodyNotReplayable: "Put it into a file and send that"
        case .certificateUntrusted: "Check it, or name the authority that issued it with --cacert"
        case .invalidTLSOptions: "Check the files of --cacert, --cert and --key"
        default: error.recoverySuggestion
        }
    }
}

extension UploadError {
    /// What went wrong in the first place, where a body that cannot be sent again has kept that from being put right.
    var cause: UploadError {
        code == .bodyNotReplayable ? underlying as? UploadError ?? self : self
    }
}
