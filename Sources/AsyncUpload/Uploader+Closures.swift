public import Foundation

extension Uploader {
    // MARK: Progress by closure

    /// Uploads a body, calls a closure as it goes, and waits for the response.
    ///
    /// The closure is called in order and in the current task: with the progress so far, with each newer one, and with
    /// the last one before this function returns; never after that. A closure that takes its time misses what is in between,
    /// and holds up the return but not the upload. Cancelling the current task stops the upload.
    ///
    /// - Parameters:
    ///   - request: where to and how.
    ///   - body: what to send.
    ///   - onProgress: called with each step of progress.
    /// - Throws: ``UploadError``, or `CancellationError`.
    public func upload(
        for request: URLRequest,
        from body: UploadBody,
        onProgress: @Sendable (UploadProgress) -> Void
    ) async throws -> UploadResponse {
        try Task.checkCancellation()
        let task = task(for: request, from: body)
        for await progress in task.progress { onProgress(progress) }
        return try await task.response
    }

    /// Uploads data and calls a closure as it goes; see ``upload(for:from:onProgress:)-(_,UploadBody,_)``.
    public func upload(
        for request: URLRequest,
        from bodyData: Data,
        onProgress: @Sendable (UploadProgress) -> Void
    ) async throws -> UploadResponse {
        try await upload(for: request, from: .data(bodyData), onProgress: onProgress)
    }

    /// Uploads a file and calls a closure as it goes; see ``upload(for:from:onProgress:)-(_,UploadBody,_)``.
    public func upload(
        for request: URLRequest,
        fromFile fileURL: URL,
        onProgress: @Sendable (UploadProgress) -> Void
    ) async throws -> UploadResponse {
        try await upload(for: request, from: .file(fileURL), onProgress: onProgress)
    }

    // MARK: Completion handlers

    /// Starts an upload for code that is not asynchronous, and calls a closure at its end.
    ///
    /// Both closures are called one after the other, on a thread of the system's: the first with each step of progress, then
    /// the second once, after a cancellation too. The upload goes on if the handle is dropped.
    ///
    /// - Parameters:
    ///   - request: where to and how.
    ///   - body: what to send.
    ///   - onProgress: called with each step of progress; a slow one misses what is in between.
    ///   - completionHandler: called with the response, an ``UploadError``, or `CancellationError`.
    /// - Returns: a handle with which the upload can be cancelled.
    @discardableResult
    public func uploadTask(
        with request: URLRequest,
        from body: UploadBody,
        onProgress: (@Sendable (UploadProgress) -> Void)? = nil,
        completionHandler: @escaping @Sendable (Result<UploadResponse, any Error>) -> Void
    ) -> UploadTask {
        let task = task(for: request, from: body)
        Task.detached {
            if let onProgress {
                for await progress in task.progress { onProgress(progress) }
            }
            do {
                completionHandler(.success(try await task.response))
            } catch {
                completionHandler(.failure(error))
            }
        }
        return task
    }

    /// Starts an upload of data; see ``uploadTask(with:from:onProgress:completionHandler:)-(_,UploadBody,_,_)``.
    @discardableResult
    public func uploadTask(
        with request: URLRequest,
        from bodyData: Data,
        onProgress: (@Sendable (UploadProgress) -> Void)? = nil,
        completionHandler: @escaping @Sendable (Result<UploadResponse, any Error>) -> Void
    ) -> UploadTask {
        uploadTask(with: request, from: .data(bodyData), onProgress: onProgress, completionHandler: completionHandler)
    }

    /// Starts an upload of a file; see ``uploadTask(with:from:onProgress:completionHandler:)-(_,UploadBody,_,_)``.
    @discardableResult
    public func uploadTask(
        with request: URLRequest,
        fromFile fileURL: URL,
        onProgress: (@Sendable (UploadProgress) -> Void)? = nil,
        completionHandler: @escaping @Sendable (Result<UploadResponse, any Error>) -> Void
    ) -> UploadTask {
        uploadTask(with: request, from: .file(fileURL), onProgress: onProgress, completionHandler: completionHandler)
    }
}
