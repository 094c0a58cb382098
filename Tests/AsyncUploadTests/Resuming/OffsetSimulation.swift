import Foundation
import Testing

@testable import AsyncUpload

/// tus and the IETF's draft before a server that drops, lies and forgets: the server has the body's bytes, each where it belongs, or
/// there is an error that says why not.
@Suite("Uploads by offsets with a server that cannot be relied on") struct OffsetSimulation {
    enum Dialect: String, CaseIterable, Codable { case tus, joined, draft, careful }

    static let cases = Dialect.allCases.flatMap { dialect in SeededGenerator.seeds.map { (dialect, $0) } }

    @Test("The server has the body, or there is an error that says why", arguments: cases)
    func simulation(dialect: Dialect, seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        var outcomes: [String: Int] = [:]
        for _ in 0..<300 {
            var run = SimulatedUpload(dialect, &generator)
            outcomes[try await run.outcome(), default: 0] += 1
        }
        #expect(outcomes["finished", default: 0] > 60, "\(outcomes)")
        #expect(outcomes["protocolViolation", default: 0] > 0, "\(outcomes)")
        #expect(outcomes["uploadExpired", default: 0] > 0 || dialect == .joined, "\(outcomes)")
    }
}

/// One upload, and the server that it goes to.
private struct SimulatedUpload {
    private var generator: SeededGenerator
    private let dialect: OffsetSimulation.Dialect
    private let length: Int64
    private let isLengthKnown: Bool
    private let partSize: Int64?
    private var machine: any ResumptionMachine
    private var server: SimulatedOffsetServer
    /// How likely it is that something goes wrong, out of 100.
    private let faults: Int

    init(_ dialect: OffsetSimulation.Dialect, _ generator: inout SeededGenerator) {
        self.dialect = dialect
        length = .random(in: 0...60, using: &generator)
        isLengthKnown = dialect == .joined || Bool.random(using: &generator)
        partSize = isLengthKnown && Bool.random(using: &generator) ? nil : .random(in: 1...30, using: &generator)
        faults = .random(in: 0...50, using: &generator)
        self.generator = SeededGenerator(seed: generator.next())
        server = SimulatedOffsetServer(isHonest: Int.random(in: 0..<4, using: &generator) > 0)
        machine = Self.machine(dialect, isLengthKnown ? length : nil, partSize, nil)
    }

    private static func machine(
        _ dialect: OffsetSimulation.Dialect,
        _ length: Int64?,
        _ partSize: Int64?,
        _ state: ResumptionState?
    ) -> any ResumptionMachine {
        let request = request("https://up.test/files", dialect == .careful ? "PUT" : "POST")
        switch dialect {
        case .tus, .joined:
            var options = TusOptions()
            options.partSize = partSize
            options.extensions = [.creation, .creationDeferLength, .concatenation]
            guard dialect == .joined, let length else {
                return TusMachine(request: request, length: length, options: options, state: state)
            }
            options.parallelParts = 3
            return TusConcatenation(request: request, length: length, options: options, state: state)
        case .draft, .careful:
            var options = ResumableDraftOptions()
            options.partSize = partSize
            options.creation = dialect == .careful ? .careful : .optimistic
            return ResumableDraftMachine(request: request, length: length, options: options, state: state)
        }
    }

    private mutating func happens(_ percentage: Int) -> Bool {
        Int.random(in: 0..<100, using: &generator) < percentage
    }

    /// The code of the error that the upload failed with, or `finished`.
    mutating func outcome() async throws -> String {
        var retryCount = 0
        var best: Int64 = 0
        for _ in 0..<3000 {
            let verdict: ResumptionVerdict
            var identifier = 0
            switch machine.next() {
            case .finish:
                #expect(server.hasStored(length))
                #expect(machine.state == nil)
                return "finished"
            case .fail(let error): return "\(error.code)"
            case .wait, .ask: throw Unexpected(text: "nothing to do")
            case .read(let number, let start, let count):
                identifier = number
                let end = min(start + Int64(count), length)
                verdict = machine.receive(
                    .ready(end: max(start, end), isEnd: start + Int64(count) > length),
                    bytesSent: 0,
                    for: number
                )
            case .send(let request):
                identifier = request.identifier
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
                machine.resume(identifier)
            }
            best = max(best, machine.confirmedByteCount)
        }
        throw Unexpected(text: "no end")
    }

    /// The upload is interrupted when nothing of the request has gone out, and goes on, in another process perhaps.
    private mutating func restart() {
        machine.interrupt(bytesSent: [:])
        guard happens(50) else { return }
        machine = Self.machine(dialect, isLengthKnown ? length : nil, partSize, machine.state)
    }

    private mutating func answer(_ given: ResumptionRequest) async throws -> ResumptionVerdict {
        let sent = Sent(identifier: given.identifier, request: try await given.makeRequest(), body: given.body)
        // How much of it got to the server, whatever came back.
        var arrived = sent.count
        if happens(faults) { arrived = .random(in: 0...sent.count, using: &generator) }
        let answer = server.take(sent, arrived: arrived, faults: faults, &generator)
        if let interim = answer.interim {
            machine.receiveInterim(head(104, interim), for: given.identifier)
        }
        let isLost = (arrived < sent.count && answer.status < 400) || happens(faults / 2)
        let outcome: ResumptionOutcome =
            isLost
            ? .failure(UploadError(.connectionLostDuringBody)) : .response(head(answer.status, answer.fields), Data())
        return machine.receive(outcome, bytesSent: arrived, for: given.identifier)
    }
}

/// A server that speaks both protocols, and stores only where the bytes belong.
private struct SimulatedOffsetServer {
    struct Answer {
        var status: Int
        var fields: [String: String] = [:]
        var interim: [String: String]?
    }

    private struct Upload {
        var length: Int64?
        /// Where its bytes begin in the body; `nil` until there are some.
        var start: Int64?
        var stored: Int64 = 0
        var isComplete = false
        var isPartial = false
        var isGone = false
    }

    let isHonest: Bool
    private var uploads: [Upload] = []
    /// How long what was joined is, if its parts lie one behind the other from the body's beginning.
    private var joined: Int64?

    init(isHonest: Bool) {
        self.isHonest = isHonest
    }

    func hasStored(_ length: Int64) -> Bool {
        if let joined { return joined == length }
        return uploads.contains {
            $0.isComplete && !$0.isPartial && $0.stored == length && ($0.start ?? 0) == 0
        }
    }

    mutating func take(
        _ sent: Sent,
        arrived: Int64,
        faults: Int,
        _ generator: inout SeededGenerator
    ) -> Answer {
        func happens(_ percentage: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percentage }
        if happens(faults / 2) {
            return Answer(status: [408, 423, 429, 500, 503].randomElement(using: &generator) ?? 500)
        }
        guard let number = sent.address?.split(separator: "/").last.flatMap({ Int($0) }),
            uploads.indices.contains(number)
        else {
            return create(sent, arrived)
        }
        if happens(faults / 4) { uploads[number].isGone = true }
        guard !uploads[number].isGone else { return Answer(status: 404) }
        if happens(faults / 8), !uploads[number].isComplete {
            uploads[number].stored -= .random(in: 0...uploads[number].stored, using: &generator)
        }
        if sent.method == "PATCH" {
            guard Int64(sent["Upload-Offset"] ?? "") == uploads[number].stored else { return describe(number, 409) }
            store(sent, arrived, in: number)
        }
        if !isHonest, happens(faults) { return lie(number, &generator) }
        return describe(number, sent["Tus-Resumable"] == nil && sent.method == "HEAD" ? 204 : 204)
    }

    private mutating func create(_ sent: Sent, _ arrived: Int64) -> Answer {
        if let list = sent["Upload-Concat"], list.hasPrefix("final;") { return join(list.dropFirst(6)) }
        var upload = Upload(length: sent["Upload-Length"].flatMap { Int64($0) })
        upload.isPartial = sent["Upload-Concat"] == "partial"
        upload.isComplete = upload.length == 0 && sent["Tus-Resumable"] != nil
        uploads.append(upload)
        let number = uploads.count - 1
        let location = ["Location": "https://up.test/files/\(number)", "Upload-Draft-Interop-Version": "8"]
        guard sent["Tus-Resumable"] == nil else { return Answer(status: 201, fields: location) }
        store(sent, arrived, in: number)
        var answer = describe(number, 201)
        answer.fields.merge(location) { $1 }
        if number % 2 == 0 { answer.interim = location }
        return answer
    }

    private mutating func store(_ sent: Sent, _ arrived: Int64, in number: Int) {
        guard !uploads[number].isComplete else { return }
        if let part = sent.part {
            let start = part.lowerBound - uploads[number].stored
            // What does not belong there would make the upload wrong for good.
            if let known = uploads[number].start, known != start { uploads[number].start = -1 }
            uploads[number].start = uploads[number].start ?? start
            uploads[number].stored += arrived
        }
        if let length = sent["Upload-Length"].flatMap({ Int64($0) }) { uploads[number].length = length }
        if sent["Tus-Resumable"] != nil {
            uploads[number].isComplete = uploads[number].stored == uploads[number].length
        } else if sent["Upload-Complete"] == "?1", arrived == sent.count {
            uploads[number].isComplete = true
        }
    }

    private mutating func join(_ list: Substring) -> Answer {
        let parts = list.split(separator: " ").compactMap { Int($0.split(separator: "/").last ?? "") }.map {
            uploads[$0]
        }
        guard parts.allSatisfy({ $0.isComplete && !$0.isGone }) else { return Answer(status: 400) }
        var end: Int64 = 0
        for part in parts {
            end = (part.start ?? end) == end ? end + part.stored : -1
            if end < 0 { break }
        }
        joined = end
        return Answer(status: 201, fields: ["Location": "https://up.test/files/joined"])
    }

    private func describe(_ number: Int, _ status: Int) -> Answer {
        let upload = uploads[number]
        var fields = [
            "Upload-Offset": "\(upload.stored)", "Upload-Complete": upload.isComplete ? "?1" : "?0",
        ]
        if let length = upload.length { fields["Upload-Length"] = "\(length)" }
        return Answer(status: status, fields: fields)
    }

    private func lie(_ number: Int, _ generator: inout SeededGenerator) -> Answer {
        var answer = describe(number, 204)
        let most: Int64 = 200
        answer.fields["Upload-Offset"] =
            [
                "\(Int64.random(in: (uploads[number].length ?? 60) + 1...most, using: &generator))", "\(Int64.max)",
                "-1", "x", nil,
            ].randomElement(using: &generator) ?? nil
        if Bool.random(using: &generator) { answer.fields["Upload-Length"] = "61" }
        return answer
    }
}
