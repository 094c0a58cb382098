import Foundation
import Testing

@testable import AsyncUpload

@Suite("tus, step by step") struct TusMachineTests {
    private func bench(
        length: Int64? = 100,
        partSize: Int64? = nil,
        extensions: Set<TusOptions.Extension>? = nil,
        state: ResumptionState? = nil
    ) -> Bench<TusMachine> {
        var options = TusOptions()
        (options.partSize, options.extensions) = (partSize, extensions)
        return Bench(
            TusMachine(request: request("https://up.test/files", "PUT"), length: length, options: options, state: state)
        )
    }

    private func created(_ bench: Bench<TusMachine>) async throws -> Bench<TusMachine> {
        let creation = try await bench.request()
        #expect(creation.method == "POST")
        #expect(creation["Tus-Resumable"] == "1.0.0")
        #expect(bench.answer(creation, 201, ["Location": "/files/1"]).isProceed)
        return bench
    }

    @Test func fieldsOfTheCaller() async throws {
        var first = request("https://up.test/files", "PUT")
        first.setValue("Bearer t", forHTTPHeaderField: "Authorization")
        first.setValue("video/mp4", forHTTPHeaderField: "Content-Type")
        first.setValue("7", forHTTPHeaderField: "Content-MD5")
        let bench = Bench(TusMachine(request: first, length: 10, options: TusOptions(), state: nil))
        let creation = try await bench.request()
        #expect(creation["Authorization"] == "Bearer t")
        #expect(creation["Content-Type"] == nil)
        #expect(creation["Content-MD5"] == nil)
        #expect(creation.data == Data())
        bench.answer(creation, 201, ["Location": "/files/1"])
        let patch = try await bench.request()
        #expect(patch.address == "https://up.test/files/1")
        #expect(patch["Authorization"] == "Bearer t")
        #expect(patch["Content-Type"] == "application/offset+octet-stream")
        #expect(patch.part == 0..<10)
    }

    @Test func emptyBody() async throws {
        let bench = bench(length: 0)
        bench.answer(try await bench.request(), 201, ["Location": "/files/1"])
        #expect(bench.finalStatus == 201)
    }

    @Test func lengthThatIsToldLater() async throws {
        let bench = bench(length: nil, partSize: 10)
        #expect(try bench.read(to: 11).start == 0)
        let creation = try await bench.request()
        #expect(creation["Upload-Defer-Length"] == "1")
        #expect(creation["Upload-Length"] == nil)
        bench.answer(creation, 201, ["Location": "/files/1"])
        let first = try await bench.request()
        #expect(first.part == 0..<10)
        #expect(first["Upload-Length"] == nil)
        bench.answer(first, 204, ["Upload-Offset": "10"])
        _ = try bench.read(to: 14, isEnd: true)
        let last = try await bench.request()
        #expect(last["Upload-Length"] == "14")
        bench.answer(last, 204, ["Upload-Offset": "14"])
        #expect(bench.finalStatus == 204)
    }

    /// The server has all bytes but does not know that they are all.
    @Test func lengthThatIsLeftToTell() async throws {
        let bench = bench(length: nil, partSize: 10, state: ResumptionState(location: "https://up.test/files/1"))
        bench.answer(try await bench.request(), 200, ["Upload-Offset": "10", "Upload-Defer-Length": "1"])
        _ = try bench.read(to: 10, isEnd: true)
        let last = try await bench.request()
        #expect(last.part == 10..<10)
        #expect(last["Upload-Length"] == nil || last["Upload-Length"] == "10")
    }

    @Test func streamIsShorterThanWhatIsThere() async throws {
        let bench = bench(length: nil, partSize: 10, state: ResumptionState(location: "https://up.test/files/1"))
        bench.answer(try await bench.request(), 200, ["Upload-Offset": "10"])
        #expect(try bench.read(to: 7, isEnd: true).verdict?.failed?.code == .bodyLengthMismatch)
    }

    @Test func serverThatWantsTheLength() throws {
        let bench = bench(length: nil, partSize: 10, extensions: [.creation])
        _ = try bench.read(to: 11)
        #expect(bench.failure?.code == .optionNotSupported)
    }

    @Test func anotherLength() async throws {
        let bench = bench(state: ResumptionState(location: "https://up.test/files/1"))
        let verdict = bench.answer(try await bench.request(), 200, ["Upload-Offset": "10", "Upload-Length": "99"])
        #expect(verdict.failed?.code == .protocolViolation)
    }

    @Test(arguments: [nil, "", "x", "-1", "101", "9223372036854775807", "9223372036854775808"])
    func badOffset(text: String?) async throws {
        let asked = bench(state: ResumptionState(location: "https://up.test/files/1"))
        let fields = text.map { ["Upload-Offset": $0] } ?? [:]
        #expect(asked.answer(try await asked.request(), 200, fields).failed?.code == .protocolViolation)
        let sending = try await created(bench())
        #expect(sending.answer(try await sending.request(), 204, fields).failed?.code == .protocolViolation)
    }

    /// What was handed over before the connection broke is all that the server can have.
    @Test func claimOfMoreThanWasSent() async throws {
        let bench = try await created(bench())
        let patch = try await bench.request()
        #expect(bench.fail(patch, .connectionLostDuringBody, bytesSent: 40).retried != nil)
        #expect(bench.isWaiting)
        bench.machine.resume(0)
        #expect(
            bench.answer(try await bench.request(), 200, ["Upload-Offset": "41"]).failed?.code == .protocolViolation
        )
    }

    /// The next process would not know what was sent.
    @Test func claimThatIsNotForgotten() async throws {
        let bench = try await created(bench())
        bench.fail(try await bench.request(), .connectionLostDuringBody, bytesSent: 40)
        bench.machine.resume(0)
        bench.answer(try await bench.request(), 200, ["Upload-Offset": "41"])
        #expect(bench.machine.state == nil)
        #expect(bench.machine.removal != nil)
    }

    /// Whatever an earlier process has sent, nothing lies behind what was just sent.
    @Test func claimAfterARestart() async throws {
        let bench = bench(partSize: 10, state: ResumptionState(location: "https://up.test/files/1"))
        bench.answer(try await bench.request(), 200, ["Upload-Offset": "20"])
        #expect(
            bench.answer(try await bench.request(), 204, ["Upload-Offset": "31"]).failed?.code == .protocolViolation
        )
    }

    @Test(arguments: ["abc", "", "ftp://up.test/1", "http://up.test/1"]) func checkpointOfNoUse(text: String)
        async throws
    {
        let bench = bench(state: ResumptionState(location: text))
        #expect(try await bench.request().method == "POST")
    }

    @Test func checkpointWithCountlessParts() async throws {
        var state = ResumptionState(partSize: 1)
        state.parts[1] = ResumptionState.Part(location: "https://up.test/files/1")
        let bench = joined(2, length: 1 << 40, state)
        #expect(try await bench.request()["Upload-Length"] == "\(1 << 39)")
    }

    @Test(arguments: [400, 401, 403, 412, 413, 415]) func refusals(status: Int) async throws {
        let bench = try await created(bench())
        #expect(bench.answer(try await bench.request(), status).failed?.response?.statusCode == status)
        // An interceptor may have found a way: the server is asked then.
        bench.machine.resume(0)
        #expect(try await bench.request().method == "HEAD")
    }

    @Test(arguments: [408, 423, 429, 460, 500, 502, 503]) func whatMayPass(status: Int) async throws {
        let bench = try await created(bench())
        #expect(bench.answer(try await bench.request(), status).retried?.response?.statusCode == status)
        bench.machine.resume(0)
        #expect(try await bench.request().method == "HEAD")
    }

    @Test func interruptedByAnotherRequest() async throws {
        let bench = try await created(bench())
        #expect(bench.answer(try await bench.request(), 400, [:], "ERR_UPLOAD_INTERRUPTED: by another").retried != nil)
    }

    @Test(arguments: [403, 404, 410]) func goneWhenAsked(status: Int) async throws {
        let bench = bench(state: ResumptionState(location: "https://up.test/files/1"))
        for _ in 1..<TusMachine.creationLimit {
            let query = try await bench.request()
            #expect(query.method == "HEAD")
            #expect(bench.answer(query, status).isProceed)
            #expect(bench.machine.state == nil)
            bench.answer(try await bench.request(), 201, ["Location": "/files/2"])
            bench.machine.interrupt(bytesSent: [:])
        }
        #expect(bench.answer(try await bench.request(), status).failed?.code == .uploadExpired)
        #expect(bench.machine.state == nil)
    }

    @Test func conflictsWithoutEnd() async throws {
        let bench = try await created(bench())
        var waits = 0
        for _ in 0..<10 {
            if bench.answer(try await bench.request(), 409).retried != nil {
                waits += 1
                bench.machine.resume(0)
            }
            bench.answer(try await bench.request(), 200, ["Upload-Offset": "0"])
        }
        #expect(waits == 8)
    }

    @Test func expiration() async throws {
        let bench = bench()
        let fields = ["Location": "/files/1", "Upload-Expires": "Wed, 25 Jun 2014 16:00:00 GMT"]
        bench.answer(try await bench.request(), 201, fields)
        #expect(bench.machine.state?.expiration == Date(timeIntervalSince1970: 1_403_712_000))
        #expect(bench.machine.removal != nil)
    }

    @Test func creationThatFails() async throws {
        let bench = bench()
        #expect(bench.fail(try await bench.request(), .connectionLostAfterBody).retried != nil)
        bench.machine.resume(0)
        let again = try await bench.request()
        #expect(again.method == "POST")
        #expect(bench.answer(again, 413).failed?.response?.statusCode == 413)
    }

    // MARK: Several at a time

    private func joined(_ parallelParts: Int = 2, length: Int64 = 11, _ state: ResumptionState? = nil) -> Bench<
        TusConcatenation
    > {
        var options = TusOptions()
        (options.parallelParts, options.extensions) = (parallelParts, [.creation, .concatenation])
        return Bench(
            TusConcatenation(
                request: request("https://up.test/files", "POST"),
                length: length,
                options: options,
                state: state
            )
        )
    }

    @Test func namesOfTheParts() async throws {
        let bench = joined()
        let (first, second) = (try await bench.request(), try await bench.request())
        #expect([first["Upload-Length"], second["Upload-Length"]] == ["6", "5"])
        #expect([first["Upload-Concat"], second["Upload-Concat"]] == ["partial", "partial"])
        #expect(bench.isWaiting)
        bench.answer(second, 201, ["Location": "https://up.test/files/2"])
        bench.answer(first, 201, ["Location": "https://up.test/files/1"])
        let patches = [try await bench.request(), try await bench.request()]
        #expect(Set(patches.map(\.part)) == [0..<6, 6..<11])
        for patch in patches { bench.answer(patch, 204, ["Upload-Offset": "\(patch.count)"]) }
        let given = try await bench.request()
        #expect(given["Upload-Concat"] == "final;https://up.test/files/1 https://up.test/files/2")
        #expect(bench.answer(given, 400).isProceed)
        let paths = try await bench.request()
        #expect(paths["Upload-Concat"] == "final;/files/1 /files/2")
        bench.answer(paths, 201, ["Location": "/files/3"])
        #expect(bench.finalStatus == 201)
        #expect(bench.machine.state == nil)
    }

    @Test func partsOfAnEarlierProcess() async throws {
        var state = ResumptionState(partSize: 6)
        state.parts[2] = ResumptionState.Part(location: "https://up.test/files/2")
        let bench = joined(5, state)
        let requests = [try await bench.request(), try await bench.request()]
        #expect(requests.map(\.method) == ["POST", "HEAD"])
        bench.answer(requests[1], 200, ["Upload-Offset": "5", "Upload-Length": "5"])
        #expect(bench.machine.confirmedByteCount == 5)
    }

    @Test func removalOfAllParts() async throws {
        let bench = joined()
        let (first, second) = (try await bench.request(), try await bench.request())
        bench.answer(first, 201, ["Location": "/files/1"])
        bench.answer(second, 201, ["Location": "/files/2"])
        #expect(bench.machine.removals.count == 2)
    }
}
