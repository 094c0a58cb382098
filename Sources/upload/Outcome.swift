import AsyncUpload

/// How an upload has ended.
enum Outcome: Sendable {
    case accepted(UploadResponse)
    case failed(UploadError)
    case interrupted

    /// Waits for the end of an upload. Cancelling the current task stops the upload.
    ///
    /// - Parameter removesRemote: whether the server is to remove what it has then.
    init(of task: UploadTask, removesRemote: Bool = false) async {
        do {
            let response = try await withTaskCancellationHandler {
                try await task.response
            } onCancel: {
                task.cancel(removingRemote: removesRemote)
            }
            self = .accepted(response)
        } catch let error as UploadError {
            self = .failed(error)
        } catch is CancellationError {
            self = .interrupted
        } catch {
            self = .failed(UploadError(.transferFailed, underlying: error))
        }
    }

    /// The server's answer that is to be shown: an accepted one, or that of a refusal.
    var answer: UploadResponse? {
        switch self {
        case .accepted(let response): response
        case .failed(let error): error.cause.code == .unacceptableStatus ? error.response : nil
        case .interrupted: nil
        }
    }

    var exitStatus: ExitStatus {
        switch self {
        case .accepted: .success
        case .failed(let error): ExitStatus(error)
        case .interrupted: .interrupted
        }
    }

    var end: ProgressTally.End {
        switch self {
        case .accepted: .accepted
        case .failed: .failed
        case .interrupted: .stopped
        }
    }
}
