import Foundation
import Testing

@testable import AsyncUpload

@Suite("Google Cloud Storage's sessions with a server that cannot be relied on")
struct GCSSimulation {
    @Test("The object is the body, or the upload fails with an error that says why", arguments: SeededGenerator.seeds)
    func simulation(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        var outcomes: [String: Int] = [:]
        for _ in 0..<400 {
            var run = Run(&generator)
            let outcome = try await run.outcome()
            outcomes[outcome, default: 0] += 1
        }
        // All of it was seen to happen, and most of the uploads got through.
        #expect(outcomes["finished", default: 0] > 100, "\(outcomes)")
        #expect(outcomes["protocolViolation", default: 0] > 0, "\(outcomes)")
        #expect(outcomes["uploadExpired", default: 0] > 0, "\(outcomes)")
    }

    /// One upload, and the server that it goes to.
    private struct Run {
        private static let unit: Int64 = 256 << 10

        private var generator: SeededGenerator
        private let length: Int64
        private let isLengthKnown: Bool
        private let options: GCSOptions
        private var machine: GCSMachine
        private var server: Server
        /// How likely it is that something goes wrong, out of 100.
        private let faults: Int

        init(_ generator: inout SeededGenerator) {
            length = Int64.random(in: 0...8, using: &generator) * Self.unit + .random(in: -1...1, using: &generator)
            let length = max(0, length)
            isLengthKnown = Bool.random(using: &generator)
            var options = GCSOptions()
            if Bool.random(using: &generator) { options.partSize = .random(in: 1...3, using: &generator) * Self.unit }
            self.options = options
            faults = .random(in: 0...60, using: &generator)
            self.generator = SeededGenerator(seed: generator.next())
            server = Server(length: length, isHonest: Int.random(in: 0..<4, using: &generator) > 0)
            machine = Self.machine(isLengthKnown ? length : nil, options, nil)
        }

        private static func machine(_ length: Int64?, _ options: GCSOptions, _ state: ResumptionState?) -> GCSMachine {
            let start = request("https://storage.test/o", "POST")
            return GCSMachine(request: start, length: length, contentType: nil, options: options, state: state)
        }

        private mutating func happens(_ percentage: Int) -> Bool {
            Int.random(in: 0..<100, using: &generator) < percentage
        }

        /// The code of the error that the upload failed with, or `finished`.
        mutating func outcome() async throws -> String {
            var retryCount = 0
            var best: Int64 = 0
            for _ in 0..<2000 {
                let verdict: ResumptionVerdict
                switch machine.next() {
                case .finish:
                    #expect(server.hasWholeBody)
                    #expect(machine.state == nil)
                    return "finished"
                case .fail(let error): return "\(error.code)"
                case .wait, .ask: throw Unexpected(text: "nothing to do")
                case .read(let identifier, let start, let count):
                    let end = min(start + Int64(count), server.length)
                    let isEnd =
                        start + Int64(count) > server.length || Bool.random(using: &generator) && end == server.length
                    verdict = machine.receive(.ready(end: end, isEnd: isEnd), bytesSent: 0, for: identifier)
                case .send(let request):
                    if happens(faults / 5) {
                        restart()
                        continue
                    }
                    verdict = try await answer(request)
                }
                switch verdict {
                case .proceed: break
                case .fail(let error): return "\(error.code)"
                case .retry(let error):
                    // As the driver does: progress begins the count anew.
                    if machine.confirmedByteCount > best { retryCount = 0 }
                    retryCount += 1
                    guard retryCount <= 8 else { return "\(error.code)" }
                    machine.resume(0)
                }
                best = max(best, machine.confirmedByteCount)
            }
            throw Unexpected(text: "no end, with \(server)")
        }

        /// The upload is interrupted in the middle of a request, and goes on, in another process perhaps.
        private mutating func restart() {
            machine.interrupt(bytesSent: [0: 0])
            guard Bool.random(using: &generator) else { return }
            machine = Self.machine(isLengthKnown ? server.length : nil, options, machine.state)
        }

        private mutating func answer(_ given: ResumptionRequest) async throws -> ResumptionVerdict {
            let sent = Sent(identifier: given.identifier, request: try await given.makeRequest(), body: given.body)
            // How much of it got to the server, whatever came back.
            var arrived = sent.count
            if happens(faults) { arrived = .random(in: 0...sent.count, using: &generator) }
            var answer = server.take(sent, arrived: arrived, faults: faults, &generator)
            if arrived < sent.count, answer.status < 400 { answer.isLost = true }
            if happens(faults / 2) { answer.isLost = true }
            let outcome: ResumptionOutcome =
                answer.isLost
                ? .failure(UploadError(.connectionLostDuringBody))
                : .response(head(answer.status, answer.fields), Data(answer.body.utf8))
            return machine.receive(outcome, bytesSent: arrived, for: given.identifier)
        }
    }

    private struct Answer {
        var status: Int
        var fields: [String: String] = [:]
        var body = ""
        var isLost = false
    }

    /// Stores nothing of what it is sent but where it belongs.
    private struct Server {
        let length: Int64
        /// Whether it says of what it has neither too much nor too little.
        let isHonest: Bool
        private var session = 0
        private var stored: Int64 = 0
        private var total: Int64?
        private var isFinished = false
        private var isMisplaced = false

        init(length: Int64, isHonest: Bool) {
            (self.length, self.isHonest) = (length, isHonest)
        }

        var hasWholeBody: Bool { isFinished && stored == length && !isMisplaced }

        mutating func take(
            _ sent: Sent,
            arrived: Int64,
            faults: Int,
            _ generator: inout SeededGenerator
        ) -> Answer {
            func happens(_ percentage: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percentage }
            if happens(faults / 2) {
                return Answer(status: [408, 429, 500, 503].randomElement(using: &generator) ?? 500)
            }
            guard sent.method == "PUT" else {
                session += 1
                (stored, total, isFinished, isMisplaced) = (0, nil, false, false)
                return Answer(status: 200, fields: ["Location": "https://storage.test/u?id=\(session)"])
            }
            guard sent.address == "https://storage.test/u?id=\(session)" else { return Answer(status: 404) }
            if happens(faults / 3) {
                session += 1
                return Answer(status: [404, 410].randomElement(using: &generator) ?? 404)
            }
            if !isFinished { store(sent, arrived) }
            if happens(faults / 5), !isFinished { stored -= .random(in: 0...stored, using: &generator) }
            if isFinished { return Answer(status: 200, body: #"{"size": "\#(stored)"}"#) }
            if !isHonest, happens(faults) { return lie(&generator) }
            return Answer(status: 308, fields: stored > 0 ? ["Range": "bytes=0-\(stored - 1)"] : [:])
        }

        private mutating func store(_ sent: Sent, _ arrived: Int64) {
            let words = (sent["Content-Range"] ?? "").split { " -/".contains($0) }
            if let text = words.last, text != "*" { total = Int64(text) }
            if let part = sent.part {
                if Int64(words[1]) != part.lowerBound { isMisplaced = true }
                // Nothing can be stored behind a gap.
                guard part.lowerBound <= stored else { return }
                stored = max(stored, part.lowerBound + arrived)
                // Chunks are taken in whole, and only the last one may be of any size.
                if part.upperBound != total { stored -= stored % (256 << 10) }
            }
            if total == stored { isFinished = true }
        }

        private mutating func lie(_ generator: inout SeededGenerator) -> Answer {
            switch Int.random(in: 0..<4, using: &generator) {
            case 0:
                isFinished = true
                return Answer(status: 200, body: #"{"size": "\#(stored)"}"#)
            case 1:
                return Answer(
                    status: 308,
                    fields: ["Range": "bytes=0-\(Int64.random(in: 0...(2 * length + 9), using: &generator))"]
                )
            case 2: return Answer(status: 308, fields: ["Range": "bytes=\(stored)-\(Int64.max)"])
            default: return Answer(status: [301, 400, 412, 204].randomElement(using: &generator) ?? 400)
            }
        }
    }
}
