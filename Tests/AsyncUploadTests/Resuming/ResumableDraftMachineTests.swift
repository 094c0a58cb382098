import Foundation
import Testing

@testable import AsyncUpload

@Suite("The IETF's draft, step by step") struct ResumableDraftMachineTests {
    private func bench(
        _ method: String = "POST",
        length: Int64? = 100,
        version: Int = 8,
        creation: ResumableDraftOptions.Creation? = nil,
        partSize: Int64? = nil,
        state: ResumptionState? = nil
    ) -> Bench<ResumableDraftMachine> {
        var options = ResumableDraftOptions()
        (options.interopVersion, options.creation, options.partSize) = (version, creation, partSize)
        let request = request("https://up.test/in", method)
        return Bench(ResumableDraftMachine(request: request, length: length, options: options, state: state))
    }

    private let place = ["Location": "/r/1", "Upload-Draft-Interop-Version": "8"]

    private var known: ResumptionState { ResumptionState(location: "https://up.test/r/1") }

    @Test(arguments: [(3, "Upload-Incomplete", "?0"), (5, "Upload-Complete", "?1"), (8, "Upload-Complete", "?1")])
    func creation(version: Int, field: String, value: String) async throws {
        let bench = bench(version: version)
        let creation = try await bench.request()
        #expect(creation[field] == value)
        #expect(creation["Upload-Draft-Interop-Version"] == "\(version)")
        #expect(creation["Upload-Length"] == (version >= 6 ? "100" : nil))
        #expect(creation.part == 0..<100)
    }

    @Test(arguments: [(5, nil), (6, "application/partial-upload"), (8, "application/partial-upload")])
    func appending(version: Int, type: String?) async throws {
        let bench = bench(version: version, partSize: 60, state: known)
        bench.answer(try await bench.request(), 204, ["Upload-Offset": "30"])
        let first = try await bench.request()
        #expect(first.method == "PATCH")
        #expect(first["Content-Type"] == type)
        #expect(first.part == 30..<90)
        #expect(first["Upload-Complete"] == "?0")
        bench.answer(first, 204, version < 7 ? ["Upload-Offset": "90"] : ["Upload-Complete": "?0"])
        #expect(try await bench.request().part == 90..<100)
    }

    @Test func interimResponsesOfOtherVersionsAndStatuses() async throws {
        let bench = bench()
        let creation = try await bench.request()
        bench.machine.receiveInterim(head(104, ["Location": "/r/1"]), for: 0)
        bench.machine.receiveInterim(head(104, ["Location": "/r/1", "Upload-Draft-Interop-Version": "7"]), for: 0)
        bench.machine.receiveInterim(head(103, place), for: 0)
        #expect(bench.machine.state == nil)
        bench.machine.receiveInterim(head(104, place, from: "https://up.test/in"), for: 0)
        #expect(bench.machine.state?.location == "https://up.test/r/1")
        #expect(bench.fail(creation, .connectionLostDuringBody, bytesSent: 10).retried != nil)
        bench.machine.resume(0)
        #expect(try await bench.request().method == "HEAD")
    }

    @Test func twoLocations() async throws {
        let bench = bench()
        let creation = try await bench.request()
        bench.machine.receiveInterim(head(104, place), for: 0)
        bench.machine.receiveInterim(head(104, place.merging(["Location": "/r/2"]) { $1 }), for: 0)
        #expect(bench.answer(creation, 200).failed?.code == .protocolViolation)
    }

    @Test func promiseOfMoreThanWasSent() async throws {
        let bench = bench()
        let creation = try await bench.request()
        bench.machine.receiveInterim(head(104, place.merging(["Upload-Offset": "101"]) { $1 }), for: 0)
        #expect(bench.fail(creation, .connectionLostDuringBody).failed?.code == .protocolViolation)
    }

    /// The verdict on the whole upload is final whatever its status.
    @Test(arguments: [200, 422, 503]) func verdict(status: Int) async throws {
        let bench = bench()
        let creation = try await bench.request()
        bench.machine.receiveInterim(head(104, place), for: 0)
        let verdict = bench.answer(creation, status, ["Upload-Complete": "?1"])
        if status == 200 {
            #expect(bench.finalStatus == 200)
        } else {
            #expect(verdict.failed?.response?.statusCode == status)
        }
        #expect(bench.machine.state == nil)
    }

    @Test func answerWithoutAWord() async throws {
        let whole = bench()
        whole.answer(try await whole.request(), 200)
        #expect(whole.finalStatus == 200)
        let incomplete = bench()
        let creation = try await incomplete.request()
        incomplete.machine.receiveInterim(head(104, place), for: 0)
        let fields = ["Upload-Complete": "?0", "Upload-Offset": "40"]
        #expect(incomplete.answer(creation, 201, fields).isProceed)
        #expect(try await incomplete.request().part == 40..<100)
    }

    @Test func carefulCreation() async throws {
        let bench = bench(creation: .careful)
        let creation = try await bench.request()
        #expect(creation["Upload-Complete"] == "?0")
        #expect(creation.data == Data())
        bench.answer(
            creation,
            201,
            ["Location": "/r/1", "Upload-Limit": "max-append-size=30, new=\"a,b\", max-size=100"]
        )
        #expect(try await bench.request().part == 0..<30)

        let unsupported = self.bench(creation: .careful)
        #expect(unsupported.answer(try await unsupported.request(), 200).failed?.code == .protocolViolation)
    }

    @Test(arguments: ["max-size=99", "min-size=101"]) func limits(limit: String) async throws {
        let bench = bench(creation: .careful)
        let verdict = bench.answer(try await bench.request(), 201, ["Location": "/r/1", "Upload-Limit": limit])
        #expect(verdict.failed?.code == .bodySizeNotAllowed)
    }

    @Test func tooLargeForOneRequest() async throws {
        let bench = bench(state: known)
        bench.answer(try await bench.request(), 204, ["Upload-Offset": "0"])
        let patch = try await bench.request()
        #expect(bench.answer(patch, 413, ["Upload-Limit": "max-append-size=30"], bytesSent: 0).isProceed)
        bench.answer(try await bench.request(), 204, ["Upload-Offset": "0"])
        let smaller = try await bench.request()
        #expect(smaller.part == 0..<30)
        #expect(bench.answer(smaller, 413).failed?.response?.statusCode == 413)
    }

    @Test func conflict() async throws {
        let bench = bench(state: known)
        bench.answer(try await bench.request(), 204, ["Upload-Offset": "50"])
        bench.answer(try await bench.request(), 409, ["Upload-Offset": "20"])
        #expect(try await bench.request().part == 20..<100)
    }

    @Test(arguments: [404, 410]) func gone(status: Int) async throws {
        for (method, isRepeated) in [("POST", false), ("PUT", true)] {
            let bench = bench(method, state: known)
            let verdict = bench.answer(try await bench.request(), status)
            #expect(verdict.isProceed == isRepeated)
            #expect(verdict.failed?.code == (isRepeated ? nil : .uploadExpired))
            #expect(bench.machine.state == nil)
        }
    }

    /// The server begins uploads and forgets them at once.
    @Test func creationsWithoutEnd() async throws {
        let bench = bench("PUT")
        var count = 0
        while count < 100 {
            let creation = try await bench.request()
            count += 1
            bench.machine.receiveInterim(head(104, place), for: 0)
            if bench.answer(creation, 404).failed?.code == .uploadExpired { break }
        }
        #expect(count == 3)
    }

    @Test func limitThatShrinksWithoutEnd() async throws {
        let bench = bench(state: known)
        bench.answer(try await bench.request(), 204, ["Upload-Offset": "0"])
        for size in (0..<100).reversed() {
            let patch = try await bench.request()
            let verdict = bench.answer(patch, 413, ["Upload-Limit": "max-append-size=\(size)"])
            if verdict.failed != nil { return #expect(size > 80) }
            bench.answer(try await bench.request(), 204, ["Upload-Offset": "0"])
        }
        Issue.record("no end")
    }

    @Test func partsThatNoMemoryHolds() async throws {
        let bench = bench(length: nil, creation: .careful)
        let fields = ["Location": "/r/1", "Upload-Limit": "min-append-size=999999999999999"]
        #expect(bench.answer(try await bench.request(), 201, fields).failed?.code == .bodySizeNotAllowed)
    }

    /// Without a place to go on at, what must not be sent twice is not.
    @Test func interruptedCreation() async throws {
        for (method, isRepeated) in [("POST", false), ("PUT", true)] {
            let bench = bench(method)
            _ = try await bench.request()
            bench.machine.interrupt(bytesSent: [0: 100])
            if isRepeated {
                #expect(try await bench.request().part == 0..<100)
            } else {
                #expect(bench.failure?.code == .connectionLostDuringBody)
            }
        }
    }

    @Test func completeBeforeAnythingWasSent() async throws {
        let bench = bench(length: nil, creation: .careful)
        let fields = ["Location": "/r/1", "Upload-Complete": "?1"]
        #expect(bench.answer(try await bench.request(), 201, fields).failed?.code == .protocolViolation)
    }

    /// Whether that is all of a body without a length shows when it is read.
    @Test func completeAtAnOffset() async throws {
        for (end, isAll) in [(50, true), (51, false)] {
            let bench = bench(length: nil, partSize: 10, state: known)
            bench.answer(try await bench.request(), 204, ["Upload-Offset": "50", "Upload-Complete": "?1"])
            let verdict = try bench.read(to: Int64(end), isEnd: isAll).verdict
            #expect(verdict?.failed?.code == (isAll ? nil : .protocolViolation))
            if isAll { #expect(bench.finalStatus == 204) }
        }
    }

    @Test func completeButShort() async throws {
        let bench = bench(state: known)
        let fields = ["Upload-Offset": "50", "Upload-Complete": "?1"]
        #expect(bench.answer(try await bench.request(), 204, fields).failed?.code == .protocolViolation)
    }

    /// All bytes are there, but nobody has said that they are all.
    @Test func closing() async throws {
        let bench = bench(state: known)
        bench.answer(try await bench.request(), 204, ["Upload-Offset": "100", "Upload-Complete": "?0"])
        let closing = try await bench.request()
        #expect(closing.part == 100..<100)
        #expect(closing["Upload-Complete"] == "?1")
    }

    /// A success before the whole part can have been there is none.
    @Test func acceptedTooEarly() async throws {
        let bench = bench()
        #expect(bench.answer(try await bench.request(), 200, bytesSent: 99).failed?.code == .bodyNotSent)
    }

    @Test func locationInARefusal() async throws {
        let bench = bench()
        let fields = ["Location": "/r/1", "Upload-Offset": "0", "Upload-Limit": "max-append-size=30"]
        #expect(bench.answer(try await bench.request(), 413, fields, bytesSent: 50).isProceed)
        let query = try await bench.request()
        #expect(query.method == "HEAD")
        bench.answer(query, 204, ["Upload-Offset": "0"])
        #expect(try await bench.request().part == 0..<30)
    }

    // MARK: Fields

    @Test func structuredFields() {
        #expect(StructuredField.boolean(" ?1;a=b") == true)
        #expect(StructuredField.boolean("?0") == false)
        for text in [nil, "", "1", "true", "?2", "?1 ?0"] { #expect(StructuredField.boolean(text) == nil) }
        #expect(StructuredField.integer("999999999999999;x") == 999_999_999_999_999)
        for text in [nil, "", "-1", "1.5", "1000000000000000", "0x1"] { #expect(StructuredField.integer(text) == nil) }
        #expect(StructuredField.integers(named: ["a", "b"], in: "a=1, c=\"x,a=9\\\"\", b=2;p") == ["a": 1, "b": 2])
        #expect(StructuredField.integers(named: ["a"], in: "a=x, b=2") == nil)
        #expect(StructuredField.integers(named: ["a"], in: "a") == nil)
    }
}
