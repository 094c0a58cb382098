public import Foundation

/// Uploads that go on where they were when they are interrupted: by a lost connection, a pause, or the end of the process.
///
/// Events, errors, retries, interceptors, limits and progress are those of any other upload. Where the server knows less than was sent, the rest
/// is sent again; where it claims more than there is, the upload fails with ``UploadError/Code-swift.struct/protocolViolation``. Nothing is
/// ever skipped. The attempts of ``RetryPolicy`` are counted anew whenever something has arrived since the last failure, and a failure is judged by
/// what the protocol makes of it, not by the request's method.
///
/// The upload leaves a checkpoint in ``Uploader/Configuration-swift.struct/checkpointStore`` as soon as there is something to go on with, and removes it
/// at its end. A file that is not the same any more, by its size, modification time and identity, is sent from its start as a new upload. Of a stream only the part that
/// is on its way is in memory; where the server goes back before that, a stream that cannot be made anew fails with
/// ``UploadError/Code-swift.struct/bodyNotReplayable``.
extension Uploader {
    /// Uploads a body by a resumable protocol and gives the events of the upload; see ``upload(for:from:)-(_,UploadBody)``.
    public func upload(
        for request: URLRequest,
        from body: UploadBody,
        resuming: ResumableProtocol
    ) -> AsyncThrowingStream<UploadEvent, any Error> {
        upload(for: request, body, resuming)
    }

    /// Uploads data by a resumable protocol and gives the events of the upload.
    public func upload(
        for request: URLRequest,
        from bodyData: Data,
        resuming: ResumableProtocol
    ) -> AsyncThrowingStream<UploadEvent, any Error> {
        upload(for: request, .data(bodyData), resuming)
    }

    /// Uploads a file by a resumable protocol and gives the events of the upload.
    public func upload(
        for request: URLRequest,
        fromFile fileURL: URL,
        resuming: ResumableProtocol
    ) -> AsyncThrowingStream<UploadEvent, any Error> {
        upload(for: request, .file(fileURL), resuming)
    }

    /// Uploads a body by a resumable protocol and waits for the response: the one by which the server has said that it has everything.
    ///
    /// Cancelling the current task stops the upload, and keeps its checkpoint.
    ///
    /// - Throws: ``UploadError``, or `CancellationError`.
    public func response(
        for request: URLRequest,
        from body: UploadBody,
        resuming: ResumableProtocol
    ) async throws -> UploadResponse {
        try Task.checkCancellation()
        return try await task(for: request, from: body, resuming: resuming).response
    }

    /// Uploads data by a resumable protocol and waits for the response.
    public func response(
        for request: URLRequest,
        from bodyData: Data,
        resuming: ResumableProtocol
    ) async throws -> UploadResponse {
        try await response(for: request, from: .data(bodyData), resuming: resuming)
    }

    /// Uploads a file by a resumable protocol and waits for the response.
    public func response(
        for request: URLRequest,
        fromFile fileURL: URL,
        resuming: ResumableProtocol
    ) async throws -> UploadResponse {
        try await response(for: request, from: .file(fileURL), resuming: resuming)
    }

    /// Starts an upload by a resumable protocol and gives a handle on it, which can also pause it.
    public func task(for request: URLRequest, from body: UploadBody, resuming: ResumableProtocol) -> UploadTask {
        start(request, body, resuming).task
    }

    /// Starts an upload of data by a resumable protocol.
    public func task(for request: URLRequest, from bodyData: Data, resuming: ResumableProtocol) -> UploadTask {
        task(for: request, from: .data(bodyData), resuming: resuming)
    }

    /// Starts an upload of a file by a resumable protocol.
    public func task(for request: URLRequest, fromFile fileURL: URL, resuming: ResumableProtocol) -> UploadTask {
        task(for: request, from: .file(fileURL), resuming: resuming)
    }
}
