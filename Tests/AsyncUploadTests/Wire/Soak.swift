import Foundation
import LoopbackServer
import Testing

@testable import AsyncUpload

extension OverTheWire {
    /// Many uploads of all kinds over one uploader, with faults, cancellations and changes of mind.
    ///
    /// `ASYNCUPLOAD_SOAK=10` makes it so many times as long. A failure names the seed and the upload; `ASYNCUPLOAD_SEED=<seed>`
    /// runs that seed alone, with the same uploads in the same order. How they interleave is the system's affair.
    @Suite("Soak", .enabled(if: Platform.usesFoundationNetworking, "reads /proc"))
    struct Soaking {
        @Test(
            "Whatever happens, every upload ends once and rightly, and nothing piles up",
            arguments: [Carrier.automatic, .streamed],
            SeededGenerator.seeds
        )
        func soak(carrier: Carrier, seed: UInt64) async throws {
            let transcript = try Transcript()
            await #expect(processExitsWith: .success) { [carrier, seed, path = transcript.path as String] in
                await Transcript.record(path) { try await Soak(carrier: carrier, seed: seed).run() }
            }
            try transcript.check()
        }
    }
}

/// One run: rounds of uploads, each with a server of its own, over the same uploader.
private final class Soak: Sendable {
    private static let roundSize = 250
    private static let rounds = ProcessResources.isSanitized ? 2 : 3 * SoakPlan.factor
    private static let patience = ProcessResources.isSanitized ? 1.0 : 0.3
    private static let largestGrowth = 16 << 20

    private let carrier: Carrier
    private let seed: UInt64
    private let uploader: Uploader
    private let temporary: ScratchFolder
    private let scratch: ScratchFolder
    private let listeners: [Fault: RawListener]
    private let pool: Data
    /// Of which upload the uploader has told how many ends.
    private let ends: Locked<[Int: Int]>
    /// Odd while the uploader is being reset.
    private let resets = Locked(0)

    init(carrier: Carrier, seed: UInt64) throws {
        (self.carrier, self.seed) = (carrier, seed)
        temporary = try ScratchFolder()
        scratch = try ScratchFolder()
        setenv("TMPDIR", temporary.url.path, 1)
        pool = bytes(SoakPlan.largestSize, seed: seed)
        var listeners: [Fault: RawListener] = [:]
        for fault in Fault.all { listeners[fault] = try fault.listener() }
        self.listeners = listeners
        let ends = Locked<[Int: Int]>([:])
        self.ends = ends
        uploader = Uploader(carrier) {
            $0.retry = .exponential(limit: 2, initialDelay: .milliseconds(10))
            $0.interceptors = [Impatience()]
            $0.onActivity = { activity in
                switch activity.event {
                case .success, .failure: ends.withLock { $0[activity.uploadIdentifier, default: 0] += 1 }
                default: break
                }
            }
        }
    }

    func run() async throws {
        var warm: ProcessResources?
        for round in 0..<Self.rounds {
            try await runRound(round * Self.roundSize..<(round + 1) * Self.roundSize)
            // A third of the way everything has been there once that is kept.
            if round == Self.rounds / 3 {
                await closeConnections()
                ProcessResources.trimMemory()
                warm = .current
            }
        }
        let count = Self.rounds * Self.roundSize
        let ends = ends.withLock { $0 }
        expect(ends.count == count, "\(ends.count) of \(count) uploads ended")
        expect(ends.values.allSatisfy { $0 == 1 }, "uploads ended more than once")
        expect(uploader.inFlight == 0, "\(uploader.inFlight) are in flight")
        guard let warm else { return }
        await closeConnections()
        ProcessResources.trimMemory()
        let growth = ProcessResources.current.residentSize - warm.residentSize
        expect(ProcessResources.isSanitized || growth < Self.largestGrowth, "memory has grown by \(growth) bytes")
        if let left = try await leftovers(since: warm, in: temporary) { complain(left) }
    }

    /// How many are kept, to servers that are gone, is chance.
    private func closeConnections() async {
        await uploader.reset()
    }

    private func expect(_ condition: Bool, _ text: @autoclosure () -> String) {
        if !condition { complain(text()) }
    }

    private func complain(_ text: String) {
        Transcript.add("\(carrier), seed \(seed): \(text)")
    }

    // MARK: Uploads

    private func runRound(_ numbers: Range<Int>) async throws {
        let (carrier, seed) = (carrier, seed)
        let round = Round(try LoopbackServer(receiveBufferSize: 64 << 10), complain)
        round.serve()
        let plans = numbers.map { SoakPlan(seed: seed, number: $0, carrier: carrier) }
        _ = try await inParallel(plans, limit: 24) { try await self.upload($0, round) }
        round.server.stop()
    }

    private func upload(_ plan: SoakPlan, _ round: Round) async throws {
        await apply(plan.change)
        let data = pool[plan.offset..<(plan.offset + plan.size)]
        let name = "\(plan.number)"
        let specimen = try Specimen(plan.kind, data, in: scratch, name: name)
        defer { try? FileManager.default.removeItem(at: scratch.path(name)) }
        let resetsBefore = resets.withLock { $0 }
        let (requested, request) = AsyncStream<Void>.makeStream()
        round.add(Round.Entry(plan: plan, specimen: specimen) { request.finish() })
        let task = uploader.task(for: makeRequest(plan, round.server), from: specimen.body)
        task.priority = plan.priority
        let canceller = Task { await cancel(task, plan.cancellation, requested) }
        // One that hangs is ended and told by its name.
        let watchdog = Task {
            try await Task.sleep(for: .seconds(60))
            complain("\(plan): hangs at \(task.currentProgress)")
            task.cancel()
        }
        let seen = await Observation(task.events)
        watchdog.cancel()
        canceller.cancel()
        request.finish()
        await task.waitUntilReleased()
        for defect in seen.defects { complain("\(plan): \(defect)") }
        var allowed = plan.endings(over: carrier)
        let wasReset = resets.withLock { $0 != resetsBefore } || !resetsBefore.isMultiple(of: 2)
        if plan.cancellation != .never || wasReset { allowed.insert(.cancelled) }
        let ending = Ending(seen)
        let reason = seen.error.map { " (\($0))" } ?? ""
        expect(allowed.contains(ending), "\(plan): ended with \(ending) and not \(allowed)\(reason)")
        round.check(plan, hasSucceeded: ending == .success)
    }

    private func makeRequest(_ plan: SoakPlan, _ server: LoopbackServer) -> URLRequest {
        let listener = plan.fault.flatMap { fault in listeners[fault].flatMap(fault.url) }
        let url = listener ?? server.url("/\(plan.number)")
        var request = URLRequest(url: url, method: plan.method == .put ? "PUT" : "POST")
        if plan.method == .keyedPost {
            request.setValue("\"\(plan.number)\"", forHTTPHeaderField: IdempotencyKey.fieldName)
        }
        if plan.fault?.kind == .silence {
            request.setValue("\(Self.patience)", forHTTPHeaderField: Impatience.fieldName)
        }
        return request
    }

    private func apply(_ change: SoakPlan.Change) async {
        switch change {
        case .none: break
        case .limit(let limit): uploader.maximumUploadsInFlight = limit
        case .limitPerHost(let limit): uploader.maximumUploadsInFlightPerHost = limit
        case .reset:
            // One at a time, or the count would say that there is none.
            let mayReset = resets.withLock { count in
                guard count.isMultiple(of: 2) else { return false }
                count += 1
                return true
            }
            guard mayReset else { return }
            await uploader.reset()
            resets.withLock { $0 += 1 }
        }
    }

    private func cancel(
        _ task: UploadTask,
        _ cancellation: SoakPlan.Cancellation,
        _ requested: AsyncStream<Void>
    ) async {
        switch cancellation {
        case .never: return
        case .atOnce: break
        case .atFraction(let part): for await progress in task.progress where progress.fraction >= part { break }
        case .whenRequested: for await _ in requested {}
        case .inWait: for await progress in task.progress where progress.retryingIn != nil { break }
        }
        task.cancel()
    }
}

/// What the server of a round knows.
private final class Round: Sendable {
    struct Entry: Sendable {
        let plan: SoakPlan
        let specimen: Specimen
        let onRequest: @Sendable () -> Void
        var hasMetFault = false
        var acceptances = 0

        init(plan: SoakPlan, specimen: Specimen, onRequest: @escaping @Sendable () -> Void) {
            (self.plan, self.specimen, self.onRequest) = (plan, specimen, onRequest)
        }
    }

    let server: LoopbackServer
    private let complain: @Sendable (String) -> Void
    private let entries = Locked<[Int: Entry]>([:])

    init(_ server: LoopbackServer, _ complain: @escaping @Sendable (String) -> Void) {
        (self.server, self.complain) = (server, complain)
    }

    func add(_ entry: Entry) {
        entries.withLock { $0[entry.plan.number] = entry }
    }

    func serve() {
        // The server lets go of it when it is stopped.
        server.route(nil, "/*") { try self.serve($0) }
    }

    private func serve(_ exchange: Exchange) throws {
        let number = exchange.request.path.split(separator: "/").first.flatMap { Int($0) } ?? -1
        let found = entries.withLock { entries in
            defer { entries[number]?.hasMetFault = true }
            return entries[number]
        }
        // Of one that was cancelled this may be the first that is heard.
        guard let entry = found else { return exchange.close() }
        entry.onRequest()
        if let fault = entry.plan.fault, !entry.hasMetFault {
            try fault.serve(exchange, bodyLength: entry.specimen.length)
        } else {
            try exchange.readBody(digesting: true)
            if exchange.request.digest != entry.specimen.digest { complain("\(entry.plan): other bytes arrived") }
            entries.withLock { $0[number]?.acceptances += 1 }
            try exchange.respond(201)
        }
    }

    /// Looks at an upload that has ended.
    func check(_ plan: SoakPlan, hasSucceeded: Bool) {
        guard let entry = entries.withLock({ $0.removeValue(forKey: plan.number) }) else { return }
        if entry.acceptances > 1 { complain("\(plan): accepted \(entry.acceptances) times") }
        if hasSucceeded, entry.acceptances == 0 { complain("\(plan): a success that the server knows nothing of") }
    }
}
