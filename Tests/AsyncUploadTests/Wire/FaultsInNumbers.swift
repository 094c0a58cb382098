import Foundation
import LoopbackServer
import Testing

@testable import AsyncUpload

extension OverTheWire {
    @Suite("Faults, a thousand times in a row", .enabled(if: Platform.usesFoundationNetworking))
    struct FaultsInNumbers {
        /// What a server does, and whether that can be a success.
        enum Fault: String, CaseIterable, Codable {
            case endsInsideHead, resetsAnywhere, closesReusedConnection, noReasonPhrase, latin1, garbage

            var isSuccess: Bool {
                switch self {
                case .closesReusedConnection, .noReasonPhrase, .latin1: true
                case .endsInsideHead, .resetsAnywhere, .garbage: false
                }
            }

            func serve(_ exchange: Exchange, _ number: Int, isFirstOnConnection: Bool) throws {
                switch self {
                case .resetsAnywhere:
                    _ = try exchange.readBody(upTo: number * 37 % 2000)
                    exchange.reset()
                case .closesReusedConnection:
                    // Every second request on a connection finds it closed.
                    if !isFirstOnConnection { return exchange.close() }
                    try exchange.readBody()
                    try exchange.respond(200)
                case .endsInsideHead:
                    try exchange.readBody()
                    try exchange.send(String("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r".prefix(1 + number % 19)))
                    exchange.close()
                case .noReasonPhrase:
                    try exchange.readBody()
                    try exchange.send("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok")
                case .latin1:
                    try exchange.readBody()
                    try exchange.send(
                        Data("HTTP/1.1 200 OK\r\nX-A: ".utf8) + [0xe9] + Data("\r\nContent-Length: 0\r\n\r\n".utf8)
                    )
                case .garbage:
                    try exchange.readBody()
                    try exchange.send(bytes(1 + number % 300, seed: UInt64(number + 1)))
                    exchange.close()
                }
            }
        }

        @Test("Each ends as it should, and the process lives", arguments: Fault.allCases)
        func faults(fault: Fault) async {
            // Of its own, so that nobody else's descriptors count.
            await #expect(processExitsWith: .success) { [fault] in
                let lane = try Lane(.automatic) { $0.maximumUploadsInFlight = 8 }
                let connections = Locked<Set<Int>>([])
                lane.server.route(nil, "/*") { exchange in
                    let isFirst = connections.withLock { $0.insert(exchange.request.connection).inserted }
                    try fault.serve(exchange, exchange.request.index, isFirstOnConnection: isFirst)
                }
                let before = ProcessResources.current
                let data = bytes(2000)
                let kinds: [UploadBody] = [.data(data), .stream { pieces(of: data, size: 300) }]
                let successes = await withTaskGroup(of: Bool.self) { group in
                    for number in 0..<1000 {
                        group.addTask {
                            let events = lane.uploader.upload(for: lane.request("/x"), from: kinds[number % 2])
                            let seen = await Observation(events)
                            if fault.isSuccess { #expect(seen.error == nil, "upload \(number)") }
                            return seen.response != nil
                        }
                    }
                    return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(successes == (fault.isSuccess ? 1000 : 0))
                await lane.uploader.shutDown()
                try await lane.server.wait { $0.openConnectionCount == 0 }
                try await eventually("descriptors are left") {
                    ProcessResources.current.descriptors <= before.descriptors
                }
            }
        }

        @Test("C31: an answer that comes right before a reset is never lost", arguments: BodyKind.allCases)
        func answerBeforeReset(kind: BodyKind) async throws {
            let lane = try Lane(.automatic)
            lane.server.route(nil, "/*") { exchange in
                try exchange.respond(413, headers: [("Connection", "close")], body: "too large")
                exchange.close()
            }
            let body = try kind.largeBody(in: lane.scratch)
            for _ in 0..<250 {
                let seen = await Observation(lane.uploader.upload(for: lane.request("/x"), from: body))
                #expect(seen.refusedStatus == 413)
                #expect((seen.error as? UploadError)?.response?.text() == "too large")
            }
        }

        @Test("Cancelling 100 uploads that are under way takes no time and leaves nothing")
        func cancelled() async {
            await #expect(processExitsWith: .success) {
                let lane = try Lane(.automatic) { $0.maximumUploadsInFlight = 100 }
                lane.server.route(nil, "/*", LoopbackServer.neverAnswer)
                let before = ProcessResources.current
                let bodies: [UploadBody] = [
                    .data(bytes(100_000)), .file(try lane.scratch.file(bytes(100_000))),
                    .stream {
                        Pieces { _ in
                            try await Task.sleep(for: .milliseconds(20))
                            return bytes(100)
                        }
                    },
                ]
                var durations: [Duration] = []
                // Whoever else uses the machine may hold up one round.
                for round in 1...5 {
                    let tasks = (0..<100).map {
                        lane.uploader.task(for: lane.request("/x"), from: bodies[min($0 % 7, 2)])
                    }
                    try await lane.server.wait { $0.requests.count == round * 100 }
                    let start = ContinuousClock.now
                    for task in tasks { task.cancel() }
                    for task in tasks { await #expect(throws: CancellationError.self) { try await task.response } }
                    for task in tasks { await task.waitUntilReleased() }
                    durations.append(ContinuousClock.now - start)
                    try await lane.server.wait { $0.openConnectionCount == 0 }
                }
                #expect(ProcessResources.isSanitized || durations.contains { $0 < .milliseconds(100) })
                await lane.uploader.shutDown()
                try await eventually("descriptors are left") {
                    ProcessResources.current.descriptors <= before.descriptors
                }
            }
        }
    }
}
