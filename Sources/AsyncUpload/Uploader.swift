public import Foundation

/// Sends data, files and values to HTTP servers and tells how far each upload has come.
///
/// There are three ways in, and all of them do the same:
/// - ``upload(for:from:)-(_,UploadBody)`` gives a stream of events to iterate,
/// - ``response(for:from:)-(_,UploadBody)`` awaits the response,
/// - ``task(for:from:)-(_,UploadBody)`` gives a handle with any number of readers.
///
/// An upload starts when it is asked for. The body replaces any that the request has; the request's method and header
/// fields are sent as they are, with the body's length.
///
/// An uploader may be used from any thread. Dropping it does not disturb uploads that are under way; what it holds open
/// is let go after the last of them.
public final class Uploader: Sendable {
    /// How the uploader works.
    public let configuration: Configuration

    private let transport: any Transport
    private let queue: AdmissionQueue
    private let ongoing = OngoingUploads()

    /// Makes an uploader.
    public convenience init(configuration: Configuration = Configuration()) {
        let transport = configuration.transport.makeTransport(configuration.transportOptions)
        self.init(configuration: configuration, transport: transport)
    }

    /// Makes an uploader whose configuration differs from the usual one.
    ///
    /// - Parameter configure: changes the configuration.
    public convenience init(_ configure: (inout Configuration) throws -> Void) rethrows {
        var configuration = Configuration()
        try configure(&configuration)
        self.init(configuration: configuration)
    }

    init(configuration: Configuration, transport: any Transport) {
        self.configuration = configuration
        self.transport = transport
        queue = AdmissionQueue(limit: configuration.maximumUploadsInFlight)
    }

    // MARK: Iterate

    /// Uploads a body and gives the events of the upload.
    ///
    /// The first event is the progress so far, the last one the response, right after `.progress(1)`: the upload of a
    /// small body is `.progress(0)`, `.progress(1)`, `.response`. There is at most one event per 0.5 % or 50 ms. A reader
    /// that is slower gets the newest fraction only and always the response.
    ///
    /// Leaving the loop, dropping the stream and cancelling the surrounding task stop the upload. In a cancelled task
    /// the loop throws `CancellationError`.
    ///
    /// - Parameters:
    ///   - request: where to and how: URL, method and header fields.
    ///   - body: what to send.
    /// - Returns: a stream for one reader. It throws ``UploadError`` when the upload fails, a status that is not
    ///   accepted included.
    public func upload(for request: URLRequest, from body: UploadBody) -> AsyncThrowingStream<UploadEvent, any Error> {
        guard !Task.isCancelled else {
            return AsyncThrowingStream { continuation in
                continuation.yield(.progress(0))
                continuation.finish(throwing: CancellationError())
            }
        }
        let (task, broadcast) = start(request, body)
        return broadcast.makeEvents(onLeaving: task.cancel)
    }

    /// Uploads data and gives the events of the upload; see ``upload(for:from:)-(_,UploadBody)``.
    public func upload(for request: URLRequest, from bodyData: Data) -> AsyncThrowingStream<UploadEvent, any Error> {
        upload(for: request, from: .data(bodyData))
    }

    /// Uploads a file and gives the events of the upload; see ``upload(for:from:)-(_,UploadBody)``.
    public func upload(for request: URLRequest, fromFile fileURL: URL) -> AsyncThrowingStream<UploadEvent, any Error> {
        upload(for: request, from: .file(fileURL))
    }

    // MARK: Await

    /// Uploads a body and waits for the response.
    ///
    /// Cancelling the current task stops the upload.
    ///
    /// - Throws: ``UploadError``, or `CancellationError`.
    public func response(for request: URLRequest, from body: UploadBody) async throws -> UploadResponse {
        try Task.checkCancellation()
        return try await task(for: request, from: body).response
    }

    /// Uploads data and waits for the response; see ``response(for:from:)-(_,UploadBody)``.
    public func response(for request: URLRequest, from bodyData: Data) async throws -> UploadResponse {
        try await response(for: request, from: .data(bodyData))
    }

    /// Uploads a file and waits for the response; see ``response(for:from:)-(_,UploadBody)``.
    public func response(for request: URLRequest, fromFile fileURL: URL) async throws -> UploadResponse {
        try await response(for: request, from: .file(fileURL))
    }

    // MARK: Keep a handle

    /// Starts an upload and gives a handle on it. The upload does not depend on the current task.
    public func task(for request: URLRequest, from body: UploadBody) -> UploadTask {
        start(request, body).task
    }

    /// Starts an upload of data; see ``task(for:from:)-(_,UploadBody)``.
    public func task(for request: URLRequest, from bodyData: Data) -> UploadTask {
        task(for: request, from: .data(bodyData))
    }

    /// Starts an upload of a file; see ``task(for:from:)-(_,UploadBody)``.
    public func task(for request: URLRequest, fromFile fileURL: URL) -> UploadTask {
        task(for: request, from: .file(fileURL))
    }

    // MARK: Shut down

    /// What becomes of the uploads that are under way or waiting when an uploader is shut down.
    public enum ShutdownMode: Sendable {
        /// They go on to their ends.
        case finishing
        /// They are cancelled.
        case cancelling
    }

    /// Refuses new uploads from now on with ``UploadError/Code-swift.struct/shutDown``, and returns when the others have
    /// ended and every connection is closed.
    ///
    /// May be called more than once; `.cancelling` also stops what an earlier `.finishing` is waiting for.
    public func shutDown(_ mode: ShutdownMode = .finishing) async {
        ongoing.close(cancelling: mode == .cancelling)
        await ongoing.ended.wait()
        await transport.shutDown()
    }

    /// How many uploads have their turn or wait for it.
    var inFlight: Int {
        let counts = queue.counts
        return counts.admitted + counts.waiting
    }

    private func start(_ request: URLRequest, _ body: UploadBody) -> (task: UploadTask, broadcast: UploadBroadcast) {
        let broadcast = UploadBroadcast()
        guard let number = ongoing.begin() else {
            broadcast.end(.failure(UploadError(.shutDown)))
            return (UploadTask(broadcast: broadcast, work: Task {}), broadcast)
        }
        let driver = UploadDriver(
            request: request,
            body: body,
            configuration: configuration,
            transport: transport,
            queue: queue,
            ticket: queue.enter(),
            report: broadcast.report
        )
        let work = Task { [ongoing] in
            do {
                broadcast.end(.success(try await driver.run()))
            } catch {
                broadcast.end(.failure(error))
            }
            ongoing.end(number)
        }
        let task = UploadTask(broadcast: broadcast, work: work)
        ongoing.attach(task, to: number)
        return (task, broadcast)
    }
}
