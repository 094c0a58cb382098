import Foundation

/// The requests of one resumable upload, as a ``ResumptionMachine`` wants them.
///
/// Everything happens in one task, which takes in one message after the other; the steps are tasks of their own that send
/// messages. Where the upload is interrupted, the steps are given up, and what they still say does not count.
struct ResumptionRun {
    private struct Step {
        let task: Task<Void, Never>
        /// What it sends of the body; `nil` if nothing.
        let part: Range<Int64>?
        var bytesSent: Int64 = 0
    }

    private struct Wait {
        let task: Task<Void, Never>
        let error: UploadError
    }

    let driver: UploadDriver
    let body: ResumableBody
    let home: RequestChain.Home
    let control: ResumptionControl
    let keeper: CheckpointKeeper
    private(set) var machine: any ResumptionMachine
    private var story: UploadStory
    private var steps: [Int: Step] = [:]
    private var waits: [Int: Wait] = [:]
    private var round = 0
    private var retryCounts: [Int: Int] = [:]
    /// How much the server had for certain when something failed last.
    private var confirmedAtFailure: Int64 = -1
    private var isPaused = false
    /// Whether nothing is in flight any more for the pause.
    private var standsStill = false
    /// When the place among the uploads in flight was given up.
    private var asideSince: (now: ContinuousClock.Instant, awake: SuspendingClock.Instant)?
    /// Waits until what is known may be kept: perhaps nothing else happens for long.
    private var laterSave: Task<Void, Never>?

    init(
        driver: UploadDriver,
        body: ResumableBody,
        home: RequestChain.Home,
        control: ResumptionControl,
        keeper: CheckpointKeeper,
        machine: any ResumptionMachine
    ) {
        self.driver = driver
        self.body = body
        self.home = home
        self.control = control
        self.keeper = keeper
        self.machine = machine
        story = UploadStory(driver.request, length: body.length, driver.environment)
    }

    /// Runs to the end.
    ///
    /// - Throws: ``UploadError`` or `CancellationError`. Nothing is in flight any more then.
    mutating func run() async throws -> UploadResponse {
        do {
            let response = try await takeInMessages()
            await giveUpSteps()
            return response
        } catch {
            await giveUpSteps()
            // What a step was told last may be what it takes to go on.
            _ = try? await keeper.save(machine.state, isLast: true)
            guard let error = error as? UploadError else { throw error }
            throw story.explained(error, at: now)
        }
    }

    private var now: ContinuousClock.Instant { driver.environment.now() }

    private mutating func takeInMessages() async throws -> UploadResponse {
        var messages = control.messages.makeAsyncIterator()
        driver.report(story.meter.goOn(from: 0, at: now))
        while true {
            if !isPaused, !control.wantsPause, let response = try startSteps() { return response }
            if !isPaused, steps.isEmpty, !waits.isEmpty { stepAside() }
            // The stream never ends by itself.
            guard let message = await messages.next() else { throw CancellationError() }
            try await take(message)
            try await save()
        }
    }

    private mutating func save() async throws {
        guard let time = try await keeper.save(machine.state), laterSave == nil else { return }
        laterSave = Task { [control] in
            try? await Task.sleep(until: time, clock: .continuous)
            control.send(.save)
        }
    }

    private mutating func take(_ message: ResumptionControl.Message) async throws {
        switch message {
        case .pause: await pause()
        case .paused(let round): if round == self.round { try await standStill() }
        case .resume: try await resume()
        case .save: laterSave = nil
        case .step(let round, let identifier, let news):
            guard round == self.round else { return }
            try await take(news, of: identifier)
        }
    }

    private mutating func take(_ news: ResumptionStepNews, of identifier: Int) async throws {
        switch news {
        case .sent(let bytes):
            steps[identifier]?.bytesSent = bytes
            driver.report(story.meter.sent(byteCount, at: now))
        case .interim(let head): machine.receiveInterim(head, for: identifier)
        case .ended(let outcome, let chapter): try await end(identifier, outcome, chapter)
        case .cancelled(let chapter) where isPaused: add(chapter, of: steps[identifier])
        case .cancelled(let chapter):
            // Nobody has given it up: without it the upload would wait for ever.
            try await end(identifier, .failure(UploadError(.transferFailed, detail: "it was given up")), chapter)
        case .waiting(let rest):
            guard steps.isEmpty, let wait = waits[identifier] else { return }
            driver.report(story.meter.waiting(for: rest, after: wait.error.reason))
        case .waited where isPaused: break
        case .waited:
            waits[identifier] = nil
            try await takePlace()
            driver.report(story.meter.goOn(from: byteCount, at: now))
            machine.resume(identifier)
        }
    }

    /// How many bytes the server has or may have soon.
    private var byteCount: Int64 {
        steps.values.reduce(machine.confirmedByteCount) { $0 + $1.bytesSent }
    }

    // MARK: Steps

    /// - Returns: the response, when there is nothing more to do.
    private mutating func startSteps() throws -> UploadResponse? {
        while true {
            try Task.checkCancellation()
            switch machine.next() {
            case .wait: return nil
            case .finish(let head, let data): return finish(head, data)
            case .fail(let error): throw error
            case .send(let request): start(request)
            case .ask(let identifier, let question):
                let (stepper, story) = (stepper(for: identifier), story)
                start(identifier) { await stepper.answer(to: question, story) }
            case .read(let identifier, let offset, let count):
                let (stepper, story) = (stepper(for: identifier), story)
                start(identifier) { await stepper.bytes(from: offset, count, story) }
            }
        }
    }

    private mutating func start(_ request: ResumptionRequest) {
        let part: Range<Int64>? = if case .part(let range) = request.body { range } else { nil }
        let (stepper, story) = (stepper(for: request.identifier), story)
        start(request.identifier, part) { await stepper.send(request, story) }
    }

    private func stepper(for identifier: Int) -> ResumptionStepper {
        ResumptionStepper(driver: driver, body: body, home: home, post: post(for: identifier))
    }

    private mutating func start(
        _ identifier: Int,
        _ part: Range<Int64>? = nil,
        _ work: @escaping @Sendable () async -> ResumptionStepNews
    ) {
        let post = post(for: identifier)
        steps[identifier] = Step(task: Task { post(await work()) }, part: part)
    }

    private func post(for identifier: Int) -> @Sendable (ResumptionStepNews) -> Void {
        { [control, round] in control.send(.step(round: round, identifier: identifier, $0)) }
    }

    private func endSteps() async {
        for step in steps.values { step.task.cancel() }
        for wait in waits.values { wait.task.cancel() }
        for step in steps.values { await step.task.value }
        for wait in waits.values { await wait.task.value }
    }

    private mutating func giveUpSteps() async {
        laterSave?.cancel()
        await endSteps()
        await laterSave?.value
        (steps, waits) = ([:], [:])
        round += 1
    }

    private mutating func end(_ identifier: Int, _ outcome: ResumptionOutcome, _ chapter: UploadStory?) async throws {
        guard let step = steps.removeValue(forKey: identifier) else { return }
        add(chapter, of: step)
        if case .response(let head, _) = outcome, !UploadDriver.isRefusal(head.statusCode) {
            driver.queue.accepted(driver.ticket)
        }
        let verdict = machine.receive(
            outcome,
            bytesSent: bytesSent(step, chapter),
            for: identifier
        )
        let isSent = step.part != nil
        driver.report(isSent ? story.meter.sent(byteCount, at: now) : story.meter.moved(to: byteCount, at: now))
        switch verdict {
        case .proceed: break
        // What it waits for will be asked for when the upload goes on.
        case .retry where isPaused: break
        case .retry(let error): try await retry(identifier, after: error, chapter?.request)
        case .fail(let error): try await recover(identifier, from: error, chapter?.request)
        }
    }

    /// Takes in what a step has sent. Only parts of the upload's body count as that: S3, for one, is also sent a list of them.
    private mutating func add(_ chapter: UploadStory?, of step: Step?) {
        guard let chapter else { return }
        story.add(chapter)
        if step?.part != nil { story.bytesSent += chapter.transactions.reduce(0) { $0 + $1.bytesSent } }
    }

    /// How many bytes of a step's body the server can have.
    private func bytesSent(_ step: Step, _ chapter: UploadStory?) -> Int64 {
        guard let part = step.part, chapter?.transactions.isEmpty == false else { return 0 }
        guard driver.transport.countsExactly, let chapter else { return part.upperBound - part.lowerBound }
        return chapter.isBodySent ? part.upperBound - part.lowerBound : chapter.mostBytesSent
    }

    private mutating func finish(_ head: ResponseHead, _ data: Data) -> UploadResponse {
        let response = story.response(from: UploadStory.Answer(head: head, body: data), at: now)
        driver.report(story.meter.finished(at: now))
        return response
    }

    // MARK: Failures

    private mutating func retry(_ identifier: Int, after error: UploadError, _ request: URLRequest?) async throws {
        let request = request ?? driver.request
        let error = story.explained(error, at: now)
        if machine.confirmedByteCount > confirmedAtFailure {
            (confirmedAtFailure, retryCounts) = (machine.confirmedByteCount, [:])
        }
        let failure = RetryPolicy.Failure(
            error,
            of: request,
            retryCount: retryCounts[identifier, default: 0],
            elapsed: now - story.start - story.timeInQueue,
            date: driver.environment.date()
        )
        let (policy, random) = (driver.configuration.retry, driver.environment.random())
        let delay = policy.delayToGoOn(after: failure, random: random)
        if policy.limit > 0, let status = error.response?.statusCode, UploadDriver.isRefusal(status),
            Origin(request.url) == Origin(driver.request.url)
        {
            driver.queue.refused(driver.ticket, delay: delay ?? policy.wait(after: failure, random: random))
        }
        guard let delay, remaining > delay else { return try await recover(identifier, from: error, request) }
        retryCounts[identifier, default: 0] += 1
        driver.tell(.wait(delay, after: error))
        wait(identifier, delay, error)
    }

    private var remaining: Duration {
        driver.configuration.timeLimits(for: driver.request, after: driver.elapsed(story)).remaining
    }

    private mutating func wait(_ identifier: Int, _ delay: Duration, _ error: UploadError) {
        let (environment, post) = (driver.environment, post(for: identifier))
        let end = environment.now() + delay
        let task = Task {
            while case let rest = end - environment.now(), rest > .zero {
                post(.waiting(rest))
                do { try await environment.sleep(min(rest, .seconds(1))) } catch { return }
            }
            post(.waited)
        }
        waits[identifier] = Wait(task: task, error: error)
    }

    /// Asks the interceptors, who may have a way out.
    private mutating func recover(_ identifier: Int, from error: UploadError, _ request: URLRequest?) async throws {
        let error = story.explained(error, at: now)
        guard story.mayRecover(from: error) else { throw error }
        let (request, attempt) = (request ?? driver.request, story.requestCount)
        for interceptor in driver.configuration.interceptors where !Task.isCancelled {
            let recovery = try? await driver.waitingForApp(story) {
                await interceptor.recover(from: error, of: request, attempt: attempt)
            }
            guard recovery == .retry else { continue }
            story.noteRecovery(from: error)
            driver.tell(.recovery(from: error))
            return machine.resume(identifier)
        }
        throw error
    }

    // MARK: Pauses

    private mutating func pause() async {
        guard !isPaused else { return }
        isPaused = true
        await endSteps()
        // Behind what they have still said: an answer that has come is not lost.
        control.send(.paused(round: round))
    }

    /// Nothing is in flight any more, and nothing more is heard of what was.
    private mutating func standStill() async throws {
        guard isPaused else { return }
        let parts = steps.compactMapValues { $0.part.map { $0.upperBound - $0.lowerBound } }
        (steps, waits) = ([:], [:])
        round += 1
        if parts.isEmpty, case .finish = machine.next() {
            isPaused = false
            return
        }
        // What has been handed over since the last count is not known.
        machine.interrupt(bytesSent: parts)
        retryCounts = [:]
        stepAside()
        try await keeper.save(machine.state, isLast: true)
        driver.tell(.pause)
        driver.report(story.meter.paused())
        standsStill = true
        if !control.wantsPause { try await resume() }
    }

    private mutating func resume() async throws {
        // Where it is still about to be paused, that comes first.
        guard standsStill else { return }
        (isPaused, standsStill) = (false, false)
        try await takePlace(wasPaused: true)
        driver.tell(.continuation)
        driver.report(story.meter.goOn(from: machine.confirmedByteCount, at: now))
    }

    /// Who waits holds no place and no open file.
    private mutating func stepAside() {
        guard asideSince == nil else { return }
        driver.queue.stepAside(driver.ticket)
        body.rest()
        asideSince = (now, driver.environment.awake())
    }

    /// - Parameter wasPaused: whether the time since it was given up counts for nothing; otherwise only that of waiting for another.
    private mutating func takePlace(wasPaused: Bool = false) async throws {
        guard let since = asideSince else { return }
        let start = wasPaused ? since : (now: now, awake: driver.environment.awake())
        driver.queue.rejoin(driver.ticket)
        try await driver.queue.admission(of: driver.ticket)
        asideSince = nil
        story.timeInQueue += now - start.now
        story.awakeInQueue += driver.environment.awake() - start.awake
    }
}
