/// Has a say in every request of an upload: signs it, gives it a token, renews that when it was refused.
///
/// The functions may be called from many uploads at the same time. What they take their time for holds up their upload only,
/// and not for longer than ``Uploader/Configuration/timeoutIntervalForResource`` allows. They are called in tasks that are
/// cancelled with the upload; it does not wait for them then.
public protocol UploadInterceptor: Sendable {
    /// Makes the request that is sent in place of another one.
    ///
    /// Called before every request, after redirects, challenges and waits, too, and each time with the request as it would
    /// be without interceptors. The body is not in it. Fields that
    /// ``Uploader/Configuration-swift.struct/credentialFields`` names are left out again where a redirect has led to another
    /// origin.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - attempt: which request of the upload it is, from 1.
    /// - Throws: anything; the upload then fails with ``UploadError/Code-swift.struct/interceptorFailed`` and the error as
    ///   the underlying one. An ``UploadError`` is passed on as it is.
    func prepare(_ request: URLRequest, attempt: Int) async throws -> URLRequest

    /// Looks at a failure that no ``RetryPolicy`` helps against, and may do something about it.
    ///
    /// Not called when the body cannot be sent again, or if the upload was cancelled. After `.retry`, an interceptor is not
    /// asked again when the next attempt fails in the same way, and no more than ten times for an upload.
    ///
    /// - Parameters:
    ///   - error: what went wrong, with the response if there was one.
    ///   - request: what was sent.
    ///   - attempt: which request of the upload it was, from 1.
    func recover(from error: UploadError, of request: URLRequest, attempt: Int) async -> UploadRecovery
}

/// What becomes of an upload that has failed.
public enum UploadRecovery: Sendable, Hashable {
    /// It is attempted again, at once.
    case retry
    /// It has failed, unless another interceptor wants it to be attempted again.
    case fail
}

extension UploadInterceptor {
    /// Leaves the request as it is.
    public func prepare(_ request: URLRequest, attempt: Int) async throws -> URLRequest {
        request
    }

    /// Leaves the failure as it is.
    public func recover(from error: UploadError, of request: URLRequest, attempt: Int) async -> UploadRecovery {
        .fail
    }
}
