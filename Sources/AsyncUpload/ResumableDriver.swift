import Foundation

/// A resumable upload's life: its turn, its checkpoint, its requests (see ``ResumptionRun``), and what is left of it.
struct ResumableDriver: Sendable {
    let upload: UploadDriver
    let resuming: ResumableProtocol
    let store: any CheckpointStore
    let control: ResumptionControl

    /// Runs the upload to its end. Cancelling the task ends it too; what it leaves behind is what can be resumed.
    ///
    /// - Throws: ``UploadError`` or `CancellationError`.
    func run() async throws -> UploadResponse {
        defer { upload.queue.leave(upload.ticket) }
        do {
            let response = try await runInTurn()
            upload.tell(.success(response.metrics))
            return response
        } catch {
            upload.tell(.failure(error))
            throw error
        }
    }

    private func runInTurn() async throws -> UploadResponse {
        var driver = upload
        // What nobody has said; the protocols that do not care have methods of their own.
        if RequestValidation.isBodiless(driver.request) { driver.request.httpMethod = resuming.kind.usualMethod }
        var opened: OpenBody?
        var request = RequestChain.movingUserInformation(of: try await driver.openInTurn(&opened))
        // Each request has one of its own.
        request.setValue(nil, forHTTPHeaderField: "Content-Length")
        driver.request = request
        guard let first = opened else { throw UploadError(.invalidRequest, detail: "no body") }
        opened = nil
        let body = ResumableBody(first) { [driver] in
            guard let body = try driver.openBody() else { throw UploadError(.bodyNotReplayable) }
            return body
        }
        do {
            let response = try await run(request, body, driver)
            await body.close()
            return response
        } catch {
            await body.close()
            throw error
        }
    }

    private func run(_ request: URLRequest, _ body: ResumableBody, _ driver: UploadDriver) async throws
        -> UploadResponse
    {
        try resuming.kind.check()
        let keeper = CheckpointKeeper(store: store, resuming, request, body)
        let (state, reason) = try await keeper.claim()
        if let reason { driver.tell(.freshStart(reason: reason)) }
        var run = ResumptionRun(
            driver: driver,
            body: body,
            home: resuming.kind.home(of: request),
            control: control,
            keeper: keeper,
            machine: resuming.kind.makeMachine(request, body, state)
        )
        driver.tell(state == nil ? .start : .resumption)
        do {
            let response = try await run.run()
            await keeper.release(removing: true)
            return response
        } catch {
            let isKept = await cleanUp(run, after: error, keeper)
            await keeper.release(removing: !isKept)
            throw error
        }
    }

    /// What nobody can go on with is removed at the server, if that can be done.
    ///
    /// - Returns: whether the checkpoint is kept.
    private func cleanUp(_ run: ResumptionRun, after error: any Error, _ keeper: CheckpointKeeper) async -> Bool {
        let isResumable = keeper.isKept && run.machine.state != nil
        guard control.removesRemote || !isResumable else { return true }
        // Where there is no way to the server, nobody is kept waiting for the attempt.
        let isHopeless =
            !control.removesRemote && (error as? UploadError).map { $0.response == nil && $0.isTransient } ?? false
        let removals = run.machine.removals
        guard !isHopeless, !removals.isEmpty else { return false }
        upload.queue.stepAside(upload.ticket)
        run.body.rest()
        let remover = ResumptionRemoval(driver: run.driver, home: run.home, isPatient: control.removesRemote)
        // Not in this task: it may have been cancelled.
        await Task { await remover.run(removals) }.value
        return false
    }
}

extension ResumableProtocol.Kind {
    /// The method of a request that says none.
    fileprivate var usualMethod: String {
        if case .s3Multipart = self { "PUT" } else { "POST" }
    }

    /// Which origin secrets are meant for. Who signs requests says in them what they need.
    fileprivate func home(of request: URLRequest) -> RequestChain.Home {
        let origin = Origin(request.url)
        return if case .s3Multipart = self { .originOfOthers(origin) } else { .origin(origin) }
    }

    fileprivate func check() throws {
        if case .ietf(let options) = self, !(3...8).contains(options.interopVersion) {
            throw UploadError(
                .optionNotSupported,
                detail: "interop version \(options.interopVersion); 3 to 8 are known"
            )
        }
    }

    fileprivate func makeMachine(
        _ request: URLRequest,
        _ body: ResumableBody,
        _ state: ResumptionState?
    ) -> any ResumptionMachine {
        let length = body.length
        // Only so much of a stream is kept.
        let partSize = body.isStream ? PartCursor.usualPartSize : nil
        let field = request.value(forHTTPHeaderField: "Content-Type")
        let type = field.flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }
        switch self {
        case .tus(var options):
            options.partSize = options.partSize ?? partSize
            // Its requests have a type of their own. Without that of a form, which has the boundary in it, nobody could read it.
            if options.metadata["filetype"] == nil { options.metadata["filetype"] = type }
            if options.parallelParts > 1, let length, !body.isStream {
                return TusConcatenation(request: request, length: length, options: options, state: state)
            }
            return TusMachine(request: request, length: length, options: options, state: state)
        case .ietf(var options):
            options.partSize = options.partSize ?? partSize
            return ResumableDraftMachine(request: request, length: length, options: options, state: state)
        case .gcs(var options):
            options.partSize = options.partSize ?? partSize
            return GCSMachine(request: request, length: length, contentType: type, options: options, state: state)
        case .s3Multipart(var options):
            if body.isStream { options.parallelParts = 1 }
            return S3MultipartMachine(
                request: request,
                length: length,
                contentType: type,
                options: options,
                state: state
            )
        }
    }
}
