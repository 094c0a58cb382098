import Foundation
import Testing

@testable import AsyncUpload

@Suite("Amazon S3's multipart uploads with a server that cannot be relied on")
struct S3Simulation {
    @Test("The object is the body, or the upload fails with an error that says why", arguments: SeededGenerator.seeds)
    func simulation(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        var outcomes: [String: Int] = [:]
        for _ in 0..<150 {
            var run = Run(&generator)
            outcomes[try await run.outcome(), default: 0] += 1
        }
        // All of it was seen to happen, and most of the uploads got through.
        #expect(outcomes["finished", default: 0] > 40, "\(outcomes)")
        for code in ["protocolViolation", "uploadExpired", "unacceptableStatus"] {
            #expect(outcomes[code, default: 0] > 0, "\(outcomes)")
        }
    }

    /// One upload, and the server that it goes to.
    private struct Run {
        private var generator: SeededGenerator
        private let length: Int64
        private let isLengthKnown: Bool
        private let options: S3MultipartOptions
        private var machine: S3MultipartMachine
        private var server: Server
        /// How likely it is that something goes wrong, out of 100.
        private let faults: Int
        /// What has been sent, or is to be, and what the server will have said to it.
        private var pending: [(sent: Sent, outcome: ResumptionOutcome, arrived: Int64)] = []
        private var held: [Int] = []
        private var retryCount = 0
        private var best: Int64 = 0

        init(_ generator: inout SeededGenerator) {
            let mib: Int64 = 1 << 20
            length = max(0, .random(in: 0...9, using: &generator) * 5 * mib + .random(in: -1...1, using: &generator))
            isLengthKnown = Bool.random(using: &generator)
            let lists = Bool.random(using: &generator)
            let partSize = Bool.random(using: &generator) ? 5 * mib : nil
            let parallelParts = Int.random(in: 1...4, using: &generator)
            options = S3.options { options in
                if lists { S3.listing(&options) }
                options.partSize = partSize
                options.parallelParts = parallelParts
            }
            faults = .random(in: 0...40, using: &generator)
            self.generator = SeededGenerator(seed: generator.next())
            server = Server(isHonest: Int.random(in: 0..<4, using: &generator) > 0)
            machine = Self.machine(isLengthKnown ? length : nil, options, nil)
        }

        private static func machine(
            _ length: Int64?,
            _ options: S3MultipartOptions,
            _ state: ResumptionState?
        ) -> S3MultipartMachine {
            let request = request(S3.object)
            return S3MultipartMachine(
                request: request,
                length: length,
                contentType: nil,
                options: options,
                state: state
            )
        }

        private mutating func happens(_ percentage: Int) -> Bool {
            Int.random(in: 0..<100, using: &generator) < percentage
        }

        /// The code of the error that the upload failed with, or `finished`.
        mutating func outcome() async throws -> String {
            for _ in 0..<3000 {
                if happens(faults / 8) { restart() }
                var verdict: ResumptionVerdict?
                var identifier = 0
                switch machine.next() {
                case .finish:
                    #expect(server.object == length)
                    #expect(machine.confirmedByteCount == length)
                    #expect(machine.state == nil)
                    return "finished"
                case .fail(let error): return "\(error.code)"
                case .ask(let asked, _):
                    identifier = asked
                    let answer: ResumptionOutcome =
                        happens(faults / 2)
                        ? .failure(UploadError(.timedOut)) : .answer(server.create())
                    verdict = machine.receive(answer, bytesSent: 0, for: asked)
                case .read(let reading, let start, let count):
                    identifier = reading
                    let end = min(start + Int64(count), length)
                    verdict = machine.receive(
                        .ready(end: end, isEnd: start + Int64(count) > length),
                        bytesSent: 0,
                        for: reading
                    )
                case .send(let request):
                    pending.append(try await carry(request))
                    continue
                case .wait: (verdict, identifier) = try deliver()
                }
                if let code = take(verdict, identifier) { return code }
            }
            throw Unexpected(text: "no end")
        }

        /// Something comes of a request, of whichever it is, or a wait is over.
        private mutating func deliver() throws -> (ResumptionVerdict?, Int) {
            if !held.isEmpty, pending.isEmpty || Bool.random(using: &generator) {
                machine.resume(held.remove(at: .random(in: held.indices, using: &generator)))
                return (nil, 0)
            }
            guard !pending.isEmpty else { throw Unexpected(text: "nothing to wait for") }
            let (sent, outcome, arrived) = pending.remove(at: .random(in: pending.indices, using: &generator))
            return (machine.receive(outcome, bytesSent: arrived, for: sent.identifier), sent.identifier)
        }

        private mutating func take(_ verdict: ResumptionVerdict?, _ identifier: Int) -> String? {
            switch verdict {
            case nil, .proceed: break
            case .fail(let error): return "\(error.code)"
            case .retry(let error):
                // As the driver does: progress begins the count anew.
                if machine.confirmedByteCount > best { retryCount = 0 }
                retryCount += 1
                guard retryCount <= 12 else { return "\(error.code)" }
                held.append(identifier)
            }
            best = max(best, machine.confirmedByteCount)
            return nil
        }

        /// The upload is interrupted, and goes on, in another process perhaps. What was in flight may be heard of later.
        private mutating func restart() {
            machine.interrupt(bytesSent: [:])
            held = []
            guard Bool.random(using: &generator) else { return }
            pending = []
            machine = Self.machine(isLengthKnown ? length : nil, options, machine.state)
        }

        private mutating func carry(
            _ given: ResumptionRequest
        ) async throws -> (sent: Sent, outcome: ResumptionOutcome, arrived: Int64) {
            let sent = Sent(identifier: given.identifier, request: try await given.makeRequest(), body: given.body)
            let isWhole = !happens(faults / 2)
            let arrived = isWhole || sent.count == 0 ? sent.count : .random(in: 0..<sent.count, using: &generator)
            var answer = Answer(status: 503)
            var isLost = !isWhole
            if isWhole, !happens(faults / 2) { answer = server.take(sent, faults, &generator) }
            if happens(faults / 3) { isLost = true }
            let outcome: ResumptionOutcome =
                isLost
                ? .failure(UploadError(.connectionLostDuringBody))
                : .response(head(answer.status, answer.fields), Data(answer.body.utf8))
            return (sent, outcome, arrived)
        }
    }

    private struct Answer {
        var status: Int
        var fields: [String: String] = [:]
        var body = ""
    }

    /// Stores nothing of what it is sent but which bytes of the body they are.
    private struct Server {
        /// How many bytes from its start the object has of the body; `nil` while there is none, or if it is anything else.
        private(set) var object: Int64?
        private let isHonest: Bool
        private var uploads: [String: [Int: (range: Range<Int64>, tag: String)]] = [:]
        private var count = 0

        init(isHonest: Bool) {
            self.isHonest = isHonest
        }

        mutating func create() -> String {
            count += 1
            uploads["u\(count)"] = [:]
            return "u\(count)"
        }

        mutating func take(_ sent: Sent, _ faults: Int, _ generator: inout SeededGenerator) -> Answer {
            func happens(_ percentage: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percentage }
            let path = sent.request.url?.path ?? ""
            if path == "/object" {
                object = sent.part?.lowerBound == 0 ? sent.part?.upperBound : nil
                return Answer(status: 200)
            }
            let name = sent.address?.split(separator: "=").dropFirst().first?.split(separator: "&").first.map(
                String.init
            )
            if happens(faults / 20), let name { uploads[name] = nil }
            guard let name, var parts = uploads[name] else {
                return Answer(status: 404, body: S3.error("NoSuchUpload"))
            }
            if happens(faults / 5) { return Answer(status: 403, body: S3.error("AccessDenied")) }
            switch path {
            case "/list":
                if !isHonest, happens(20) { return Answer(status: 200, body: "<ListPartsResult>") }
                let known = parts.sorted { $0.key < $1.key }
                let page = happens(faults) ? Array(known.prefix(2)) : known
                return Answer(status: 200, body: Self.list(page, isTruncated: page.count < known.count))
            case "/complete": return complete(name, parts, sent, faults, &generator)
            default:
                guard let number = Int(path.dropFirst(5)), let part = sent.part else { return Answer(status: 400) }
                count += 1
                let tag = "\"\(count)&\""
                parts[number] = (part, tag)
                uploads[name] = parts
                if !isHonest, happens(4) { return Answer(status: 200) }
                if !isHonest, happens(4) { return Answer(status: 200, fields: ["ETag": "\"other\""]) }
                return Answer(status: 200, fields: ["ETag": tag])
            }
        }

        private static func list(_ parts: [(Int, (range: Range<Int64>, tag: String))], isTruncated: Bool) -> String {
            let texts = parts.map { number, part in
                let tag = XMLText.escaped(part.tag).replacing("\"", with: "&quot;")
                let size = part.range.upperBound - part.range.lowerBound
                return "<Part><ETag>\(tag)</ETag><Size>\(size)</Size><PartNumber>\(number)</PartNumber></Part>"
            }
            return "<ListPartsResult><IsTruncated>\(isTruncated)</IsTruncated>\(texts.joined())</ListPartsResult>"
        }

        private mutating func complete(
            _ name: String,
            _ parts: [Int: (range: Range<Int64>, tag: String)],
            _ sent: Sent,
            _ faults: Int,
            _ generator: inout SeededGenerator
        ) -> Answer {
            func happens(_ percentage: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percentage }
            if happens(faults) { return Answer(status: 200, body: "  " + S3.error("InternalError")) }
            var end: Int64? = 0
            for part in XMLText(sent.data ?? Data()).elements("Part") {
                guard let number = part.element("PartNumber").flatMap({ Int($0.content) }), let stored = parts[number],
                    stored.tag == part.element("ETag")?.content
                else { return Answer(status: 400, body: S3.error("InvalidPart")) }
                end = stored.range.lowerBound == end ? stored.range.upperBound : nil
            }
            object = end
            uploads[name] = nil
            if happens(faults / 3) { return Answer(status: 200, body: "<CompleteMultipartUploadResult>") }
            return Answer(status: 200, body: S3.done)
        }
    }
}
