public import Foundation

/// Sends data, files, forms, values and streams to HTTP servers and tells how far each upload has come.
///
/// There are several ways in, and all of them do the same:
/// - ``upload(for:from:)-(_,UploadBody)`` gives a stream of events to iterate,
/// - ``response(for:from:)-(_,UploadBody)`` awaits the response,
/// - ``task(for:from:)-(_,UploadBody)`` gives a handle with any number of readers,
/// - ``upload(for:from:onProgress:)-(_,UploadBody,_)`` and
///   ``uploadTask(with:from:onProgress:completionHandler:)-(_,UploadBody,_,_)`` call closures.
///
/// ``uploadAll(_:limit:stoppingAtFirstFailure:onProgress:)`` uploads many bodies, and ``send(_:)`` sends any other request.
///
/// An upload starts when it is asked for. The body replaces any that the request has; the request's method and header
/// fields are sent as they are, with the body's length.
///
/// An uploader may be used from any thread. Dropping it does not disturb uploads that are under way; what it holds open
/// is let go after the last of them.
public final class Uploader: Sendable {
    /// How the uploader works.
    public let configuration: Configuration

    private let engine: UploaderEngine
    private let queue: AdmissionQueue
    private let environment: DriverEnvironment
    private let checkpointStore: any CheckpointStore

    /// Makes an uploader.
    public convenience init(configuration: Configuration = Configuration()) {
        self.init(configuration: configuration) {
            configuration.transport.makeTransport(configuration.transportOptions)
        }
    }

    /// Makes an uploader whose configuration differs from the usual one.
    ///
    /// - Parameter configure: changes the configuration.
    public convenience init(_ configure: (inout Configuration) throws -> Void) rethrows {
        var configuration = Configuration()
        try configure(&configuration)
        self.init(configuration: configuration)
    }

    /// - Parameter makeTransport: called at once, and again whenever the uploader is reset.
    init(
        configuration: Configuration,
        environment: DriverEnvironment = .system,
        _ makeTransport: @escaping @Sendable () -> any Transport
    ) {
        self.configuration = configuration
        self.environment = environment
        checkpointStore = configuration.checkpointStore ?? MemoryCheckpointStore()
        engine = UploaderEngine(makeTransport)
        queue = AdmissionQueue(
            limit: configuration.maximumUploadsInFlight,
            limitPerHost: configuration.maximumUploadsInFlightPerHost,
            clock: environment.pauseClock
        )
    }

    /// How many uploads are under way at a time, as ``Configuration/maximumUploadsInFlight`` says to begin with; at least 1.
    ///
    /// May be changed at any time. A lower limit stops nothing that is under way.
    public var maximumUploadsInFlight: Int {
        get { queue.limit }
        set { queue.limit = newValue }
    }

    /// How many of them may be addressed to the same server, as ``Configuration/maximumUploadsInFlightPerHost`` says to begin
    /// with; at least 1, `nil` for no limit of its own.
    ///
    /// May be changed at any time. A lower limit stops nothing that is under way.
    public var maximumUploadsInFlightPerHost: Int? {
        get { queue.limitPerHost }
        set { queue.limitPerHost = newValue }
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
        upload(for: request, body, nil)
    }

    func upload(
        for request: URLRequest,
        _ body: UploadBody,
        _ resuming: ResumableProtocol?
    ) -> AsyncThrowingStream<UploadEvent, any Error> {
        guard !Task.isCancelled else {
            return AsyncThrowingStream { continuation in
                continuation.yield(.progress(0))
                continuation.finish(throwing: CancellationError())
            }
        }
        let (task, broadcast) = start(request, body, resuming)
        return broadcast.makeEvents { task.cancel() }
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

    // MARK: Send without following

    /// Sends any request and waits for the response: GET, HEAD, DELETE, or one with the `httpBody` that it has.
    ///
    /// It goes the same way as an upload: the same transport, queue, limits, redirects, credentials and errors. A redirect
    /// keeps or drops the body as for an upload. Cancelling the current task stops it.
    ///
    /// - Parameter request: method, URL, header fields and `httpBody`. A POST, PUT or PATCH without a body says that it has
    ///   none, with `Content-Length: 0` (RFC 9110 §8.6).
    /// - Returns: the response, with a status that the configuration accepts.
    /// - Throws: ``UploadError``, or `CancellationError`. A request with an `httpBodyStream` is
    ///   ``UploadError/Code-swift.struct/invalidRequest``: nobody can say how long it is, or read it twice; see
    ///   ``UploadBody/stream(_:length:)-(Pieces,_)``. So is a GET, HEAD or TRACE request with a body.
    public func send(_ request: URLRequest) async throws -> UploadResponse {
        try Task.checkCancellation()
        guard request.httpBodyStream == nil else {
            throw UploadError(.invalidRequest, detail: "httpBodyStream; send an UploadBody instead")
        }
        let isExpectedToHaveBody = ["POST", "PUT", "PATCH"].contains(request.httpMethod)
        let body = request.httpBody ?? (isExpectedToHaveBody ? Data() : nil)
        return try await start(request, body.map(UploadBody.data)).task.response
    }

    // MARK: Reset and shut down

    /// Cancels what is under way or waiting, returns when it has ended, and begins afresh: connections are closed, and
    /// whatever was kept for them is forgotten.
    ///
    /// The uploader goes on as it was, and still spares servers that have asked for it. An upload that is started while this function waits is not cancelled. Has no effect
    /// once the uploader is shut down.
    public func reset() async {
        await engine.reset()
    }

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
        await engine.shutDown(mode)
    }

    /// How many uploads have their turn or wait for it.
    var inFlight: Int {
        let counts = queue.counts
        return counts.admitted + counts.waiting
    }

    /// - Parameters:
    ///   - body: `nil` for a request without a body.
    ///   - resuming: how it goes on when it was interrupted, if it does.
    func start(
        _ request: URLRequest,
        _ body: UploadBody?,
        _ resuming: ResumableProtocol? = nil
    ) -> (task: UploadTask, broadcast: UploadBroadcast) {
        let broadcast = UploadBroadcast()
        guard let (generation, number) = engine.begin() else {
            broadcast.end(.failure(UploadError(.shutDown)))
            return (UploadTask(broadcast: broadcast, work: Task {}), broadcast)
        }
        let ticket = queue.enter(host: Origin(request.url)?.description ?? "")
        let driver = UploadDriver(
            number: ticket.number,
            request: request,
            body: body,
            configuration: configuration,
            transport: generation.transport,
            queue: queue,
            ticket: ticket,
            environment: environment,
            report: broadcast.report
        )
        let control = resuming.map { _ in ResumptionControl() }
        let run = runner(of: driver, resuming, control)
        let ongoing = generation.ongoing
        let work = Task {
            do {
                broadcast.end(.success(try await run()))
            } catch {
                broadcast.end(.failure(error))
            }
            ongoing.end(number)
        }
        let task = UploadTask(broadcast: broadcast, work: work, control: control) { [weak queue] in
            queue?.setPriority($0, of: ticket)
        }
        ongoing.attach(task, to: number)
        return (task, broadcast)
    }

    private func runner(
        of driver: UploadDriver,
        _ resuming: ResumableProtocol?,
        _ control: ResumptionControl?
    ) -> @Sendable () async throws -> UploadResponse {
        guard let resuming, let control else { return driver.run }
        return ResumableDriver(upload: driver, resuming: resuming, store: checkpointStore, control: control).run
    }
}
