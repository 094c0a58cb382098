import Foundation
import LoopbackServer
import Testing

extension LoopbackServerTests {
    /// What a script can have go wrong, with tus as the protocol.
    @Suite struct ScriptedFaults {
        private func peer(_ script: @escaping UploadScript) throws -> TusPeer {
            let peer = try TusPeer(TusServer(goneStatus: 410, script: script))
            _ = try peer.create(["Upload-Length: 10"])
            return peer
        }

        @Test func tellsTheScriptTheFacts() throws {
            let seen = Notes()
            let peer = try peer { request in
                let offset = request.offset.map(String.init) ?? "-"
                seen.add("\(request.number) \(request.method) \(request.numberOfMethod) \(offset)")
                return nil
            }
            _ = try peer.patch("u1", at: 0, "abc")
            _ = try peer.patch("u1", at: 3, "d")
            _ = try peer.head("u9")
            #expect(seen.all == ["1 POST 1 -", "2 PATCH 1 0", "3 PATCH 2 3", "4 HEAD 1 -"])
        }

        @Test func answersBeforeTheBody() async throws {
            let peer = try peer(on("PATCH", 1, .answer(503, headers: [("Retry-After", "3")], body: "no")))
            let fields = [TusPeer.version, TusPeer.type, "Upload-Offset: 0"]
            try peer.client.begin("PATCH", "/files/u1", fields, length: 10)
            let answer = try peer.client.answer()
            #expect(answer.status == 503)
            #expect(answer["Retry-After"] == "3")
            #expect(answer["Tus-Resumable"] == nil)
            #expect(answer.body == "no")
            try peer.client.write("0123456789")
            #expect(try peer.head("u1")["Upload-Offset"] == "0")
            #expect(try peer.patch("u1", at: 0, "0123456789").status == 204)
        }

        @Test func answersAfterTheBody() throws {
            let peer = try peer(on("PATCH", .answer(500, afterBody: true)))
            #expect(try peer.patch("u1", at: 0, "abc").status == 500)
            #expect(peer.store.lastText == "abc")
        }

        @Test(arguments: [false, true])
        func cutsTheBodyOff(reset: Bool) async throws {
            let peer = try peer(on("PATCH", 1, reset ? .resetAfter(4) : .closeAfter(4)))
            let fields = [TusPeer.version, TusPeer.type, "Upload-Offset: 0"]
            try peer.client.begin("PATCH", "/files/u1", fields, length: 10)
            try peer.client.write("01")
            try await peer.server.wait { $0.requests.last?.bodyByteCount == 2 }
            #expect(peer.store["u1"]?.offset == 2)
            try peer.client.write("234")
            if reset {
                #expect(throws: Client.Failure.self) { try peer.client.readToEnd() }
            } else {
                #expect(try peer.client.readToEnd() == "")
            }
            #expect(peer.store.lastText == "0123")
            let next = try Client(port: peer.server.port)
            #expect(try next.ask("HEAD", "/files/u1", [TusPeer.version])["Upload-Offset"] == "4")
        }

        @Test func keepsWhatABrokenRequestHasBrought() async throws {
            let peer = try peer { _ in nil }
            let fields = [TusPeer.version, TusPeer.type, "Upload-Offset: 0"]
            try peer.client.begin("PATCH", "/files/u1", fields, length: 10)
            try peer.client.write("0123456")
            peer.client.disconnect()
            try await peer.server.wait { $0.requests.count == 2 && $0.requests[1].ended }
            #expect(peer.store.lastText == "0123456")
        }

        @Test func keepsOnlyTheBeginning() throws {
            let peer = try peer(on("PATCH", 1, .keepOnly(3)))
            #expect(try peer.patch("u1", at: 0, "0123456789")["Upload-Offset"] == "3")
            #expect(try peer.patch("u1", at: 3, "3456789")["Upload-Offset"] == "10")
            #expect(peer.store.lastText == "0123456789")
        }

        @Test func losesTheReply() throws {
            let peer = try peer(on("PATCH", .loseReply))
            #expect(throws: Client.Failure.self) { try peer.patch("u1", at: 0, "0123456789") }
            #expect(peer.store.uploads.last?.isComplete == true)
        }

        @Test func liesAboutTheOffset() throws {
            let peer = try peer { $0.method == "POST" ? nil : .claimOffset(77) }
            #expect(try peer.patch("u1", at: 0, "abc")["Upload-Offset"] == "77")
            #expect(try peer.head("u1")["Upload-Offset"] == "77")
            #expect(peer.store["u1"]?.offset == 3)
        }

        @Test func goesBackwards() throws {
            let peer = try peer(on("HEAD", .truncate(to: 4)))
            #expect(try peer.patch("u1", at: 0, "0123456789").status == 204)
            #expect(try peer.head("u1")["Upload-Offset"] == "4")
            #expect(peer.store["u1"]?.isComplete == false)
            #expect(try peer.patch("u1", at: 4, "456789")["Upload-Offset"] == "10")
            #expect(peer.store.lastText == "0123456789")
        }

        @Test func forgets() throws {
            let peer = try peer(on("PATCH", 2, .forget))
            _ = try peer.patch("u1", at: 0, "abc")
            #expect(try peer.patch("u1", at: 3, "def").status == 410)
            #expect(try peer.head("u1").status == 410)
            let early = try self.peer(on("POST", .forget))
            #expect(try early.head("u1").status == 410)
        }

        @Test(arguments: [nil, "http://example.org/x"])
        func namesAnotherLocation(location: String?) throws {
            let peer = try peer(on("POST", 2, .location(location)))
            let answer = try peer.create(["Upload-Length: 1"])
            #expect(answer.status == 201)
            #expect(answer["Location"] == location)
        }

        @Test func changesFields() throws {
            let peer = try peer { request in
                request.method == "HEAD" ? [.header("Upload-Offset", nil), .header("Upload-Expires", "soon")] : nil
            }
            let answer = try peer.head("u1")
            #expect(answer["Upload-Offset"] == nil)
            #expect(answer["Upload-Expires"] == "soon")
        }

        @Test func takesItsTime() throws {
            let peer = try peer { request in
                request.method == "HEAD" ? [.delay(.milliseconds(30)), .delayReply(.milliseconds(30))] : nil
            }
            let start = ContinuousClock.now
            #expect(try peer.head("u1").status == 200)
            #expect(ContinuousClock.now - start >= .milliseconds(60))
        }

        @Test func pretendsToBeLocked() throws {
            let peer = try peer(on("PATCH", 1, .locked))
            #expect(try peer.patch("u1", at: 0, "abc").status == 423)
            #expect(try peer.patch("u1", at: 0, "abc").status == 204)
        }

        @Test func cutsTheReplyOff() throws {
            let peer = try peer(on("PATCH", .cutReply(after: 20)))
            #expect(try peer.patch("u1", at: 0, "abc").head == "HTTP/1.1 204 No Cont")
            #expect(peer.store.lastText == "abc")
        }

        @Test func shortensTheBody() throws {
            let peer = try peer(on("HEAD", .shortBody(3)))
            #expect(try peer.client.ask("HEAD", "/files/u9", [TusPeer.version])["Content-Length"] == "3")
        }
    }

    @Suite struct BusyUploads {
        private func begin(_ rule: BusyRule) async throws -> TusPeer {
            let peer = try TusPeer(TusServer(whenBusy: rule))
            _ = try peer.create(["Upload-Length: 10"])
            let fields = [TusPeer.version, TusPeer.type, "Upload-Offset: 0"]
            try peer.client.begin("PATCH", "/files/u1", fields, length: 10)
            try peer.client.write("0123")
            try await peer.server.wait { $0.requests.last?.bodyByteCount == 4 }
            return peer
        }

        @Test(arguments: ["HEAD", "PATCH", "DELETE"])
        func refuses(method: String) async throws {
            let peer = try await begin(.refuse)
            let other = try Client(port: peer.server.port)
            let fields = [TusPeer.version, TusPeer.type, "Upload-Offset: 4"]
            #expect(try other.ask(method, "/files/u1", fields, "").status == 423)
            try peer.client.write("456789")
            #expect(try peer.client.answer()["Upload-Offset"] == "10")
            #expect(try other.ask(method, "/files/u1", fields, "").status != 423)
        }

        @Test func waits() async throws {
            let peer = try await begin(.wait(upTo: .seconds(20)))
            let other = try Client(port: peer.server.port)
            try other.begin("HEAD", "/files/u1", [TusPeer.version])
            try await peer.server.wait { $0.requests.count == 3 }
            try peer.client.write("456789")
            #expect(try peer.client.answer()["Upload-Offset"] == "10")
            #expect(try other.answer(to: "HEAD")["Upload-Offset"] == "10")
        }

        @Test func interrupts() async throws {
            let peer = try await begin(.interrupt)
            let other = try Client(port: peer.server.port)
            #expect(try other.ask("HEAD", "/files/u1", [TusPeer.version])["Upload-Offset"] == "4")
            #expect(throws: Client.Failure.self) { try peer.client.readToEnd() }
            #expect(peer.store.lastText == "0123")
        }
    }
}

/// Lines that any thread may add.
// `lock` protects `lines`.
final class Notes: @unchecked Sendable {
    private let lock = NSLock()
    private var lines: [String] = []

    var all: [String] { lock.withLock { lines } }

    func add(_ line: String) {
        lock.withLock { lines.append(line) }
    }
}
