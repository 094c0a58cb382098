import Foundation
import LoopbackServer
import Testing

@testable import AsyncUpload

extension OverTheWire {
    /// Bodies, faults, places and carriers, each with each. The cases are generated and so is what must become of them:
    /// see ``Fault/verdict(on:over:mayRepeat:limit:)``.
    @Suite("Every fault at every place", .enabled(if: Platform.usesFoundationNetworking, "reads /proc"))
    struct FaultMatrix {
        @Test(
            "Every body that meets a fault ends by the rules, arrives whole or not at all, and leaves nothing",
            arguments: [Carrier.automatic, .streamed]
        )
        func matrix(carrier: Carrier) async throws {
            let transcript = try Transcript()
            // Of its own, so that nobody else's descriptors count; and URLSession has faults that end it.
            await #expect(processExitsWith: .success) { [carrier, path = transcript.path as String] in
                await Transcript.record(path) {
                    for failure in try await FaultCase.runAll(over: carrier) { Transcript.add(failure) }
                }
            }
            try transcript.check()
        }

        @Test("What is left out is what the carrier does not survive, and nothing else")
        func leftOut() {
            #expect(Fault.all.count == 56)
            #expect(FaultCase.all(over: .automatic).count == 56 * FaultyBody.allCases.count)
            #expect(FaultCase.all(over: .streamed).count == 54 * FaultyBody.allCases.count)
        }
    }
}

/// One upload that meets one fault.
private struct FaultCase: Sendable, CustomStringConvertible {
    let kind: FaultyBody
    let fault: Fault
    let carrier: Carrier

    private static let size = 600_000
    private static let limit = 2
    /// For what is waited for in vain; enough for a slow machine to get as far as the fault.
    private static let patience = ProcessResources.isSanitized ? 3.0 : 1.0

    var description: String { "\(kind), \(fault), \(carrier)" }

    static func all(over carrier: Carrier) -> [FaultCase] {
        FaultyBody.allCases.flatMap { kind in
            Fault.all.filter { KnownIssue.forbidding($0, over: carrier) == nil }
                .map { FaultCase(kind: kind, fault: $0, carrier: carrier) }
        }
    }

    /// Runs the cases of a carrier, some at a time.
    ///
    /// - Returns: what is wrong.
    static func runAll(over carrier: Carrier) async throws -> [String] {
        let temporary = try ScratchFolder()
        let scratch = try ScratchFolder()
        setenv("TMPDIR", temporary.url.path, 1)
        let data = bytes(size, seed: SeededGenerator.seeds[0])
        // The first ones start what the process keeps.
        let healthy = Fault(place: .beforeResponse, kind: .status(503))
        for kind in FaultyBody.allCases {
            _ = try await FaultCase(kind: kind, fault: healthy, carrier: carrier).run(data, in: scratch)
        }
        let before = ProcessResources.current
        var generator = SeededGenerator(seed: SeededGenerator.seeds[0])
        var failures = try await inParallel(all(over: carrier).shuffled(using: &generator), limit: 8) { item in
            try await item.run(data, in: scratch).map { "\(item): \($0)" }
        }
        .flatMap { $0 }
        if let left = try await leftovers(since: before, in: temporary) { failures.append(left) }
        return failures
    }

    private func run(_ data: Data, in scratch: ScratchFolder) async throws -> [String] {
        let specimen = try Specimen(kind, data, in: scratch)
        let server = try LoopbackServer(receiveBufferSize: 64 << 10)
        let (fault, accept) = (fault, LoopbackServer.accept(status: 201, digesting: true))
        server.route(nil, "/*") { exchange in
            guard exchange.request.index == 0 else { return try accept(exchange) }
            try fault.serve(exchange, bodyLength: specimen.length)
        }
        let listener = try fault.listener()
        let uploader = Uploader(carrier) {
            $0.retry = .exponential(limit: Self.limit, initialDelay: .milliseconds(10))
            $0.interceptors = [Impatience()]
            if fault.kind == .silence, fault.isPermanent { $0.timeoutIntervalForConnection = Self.patience / 2 }
        }
        var request = URLRequest(url: listener.flatMap(fault.url) ?? server.url("/x"), method: "PUT")
        if fault.kind == .silence { request.setValue("\(Self.patience)", forHTTPHeaderField: Impatience.fieldName) }
        let start = ContinuousClock.now
        let task = uploader.task(for: request, from: specimen.body)
        // One that hangs is ended and told by its name.
        let watchdog = Task {
            try await Task.sleep(for: .seconds(40))
            task.cancel()
        }
        let seen = await Observation(task.events)
        watchdog.cancel()
        let duration = ContinuousClock.now - start
        await task.waitUntilReleased()
        let response = try? await task.response
        let metrics = response?.metrics ?? (seen.error as? UploadError)?.metrics
        await uploader.shutDown()
        server.stop()
        let end = End(
            ending: Ending(seen),
            statusCode: response?.statusCode,
            transactions: metrics?.transactions ?? [],
            error: seen.error as? UploadError,
            duration: duration,
            requests: server.requests
        )
        // I1, I2, and then the rest
        return seen.defects + complaints(end, specimen)
    }

    private struct End {
        let ending: Ending
        let statusCode: Int?
        let transactions: [UploadMetrics.Transaction]
        let error: UploadError?
        let duration: Duration
        let requests: [ReceivedRequest]
    }

    private func complaints(_ end: End, _ specimen: Specimen) -> [String] {
        let verdict = fault.verdict(on: kind, over: carrier, limit: Self.limit)
        let accepted = end.requests.filter { $0.status == 201 && $0.isComplete }
        let whole = end.requests.filter { $0.digest != nil }
        let reason = end.error.map { ": \($0)" } ?? ""
        let first = end.transactions.first.map(Ending.init)
        var complaints: [String] = []
        func expect(_ condition: Bool, _ text: @autoclosure () -> String) {
            if !condition { complaints.append(text()) }
        }
        expect(verdict.endings.contains(end.ending), "\(end.ending) and not \(verdict.endings)\(reason)")
        expect(
            verdict.requests.contains(end.transactions.count),
            "\(end.transactions.count) requests and not \(verdict.requests)\(reason)"
        )
        expect(first.map(verdict.first.contains) ?? false, "began with \(first?.description ?? "nothing")\(reason)")
        expect(accepted.count == verdict.acceptances, "accepted \(accepted.count) times")
        // I3, I4
        expect(whole.allSatisfy { $0.digest == specimen.digest }, "other bytes arrived")
        if end.ending == .success {
            expect(end.statusCode == 201, "answered with \(end.statusCode ?? 0)")
            expect(end.requests.last?.digest == specimen.digest, "a success without its bytes")
        }
        // What led to it is told as well.
        if end.ending == .failure(.bodyNotReplayable), fault.kind != .status(307) {
            expect((end.error?.underlying as? UploadError) != nil, "no reason given")
        }
        if fault.excludesRequest(over: carrier) { expect(end.error?.mayHaveReachedServer == false, "may have arrived") }
        // I5; the slowest are three vain attempts.
        expect(end.duration < .seconds(Self.patience * 3 + 10), "took \(end.duration)")
        return complaints
    }
}
