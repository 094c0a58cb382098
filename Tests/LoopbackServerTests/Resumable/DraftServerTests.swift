import Foundation
import LoopbackServer
import Testing

/// A client of the IETF draft that does what it is told, in one interop version.
struct DraftPeer {
    let server: LoopbackServer
    let client: Client
    let store: UploadStore
    let version: Int

    init(_ version: Int = 8, _ draft: ResumableDraftServer = ResumableDraftServer()) throws {
        server = try LoopbackServer()
        store = draft.store
        draft.install(on: server)
        client = try Client(port: server.port)
        self.version = version
    }

    var versionField: String { "Upload-Draft-Interop-Version: \(version)" }

    func completeness(_ isComplete: Bool) -> String {
        version == 3 ? "Upload-Incomplete: \(isComplete ? "?0" : "?1")" : "Upload-Complete: \(isComplete ? "?1" : "?0")"
    }

    /// Creates an upload; the interim response is to be read if there is one.
    func create(_ body: String, complete: Bool, _ fields: [String] = [], interim: Bool = true) throws -> Answer {
        let all = [versionField, completeness(complete)] + fields
        try client.begin("POST", "/upload", all, length: body.utf8.count)
        if interim { _ = try client.read(until: "\r\n\r\n") }
        try client.write(body)
        return try client.answer()
    }

    func patch(_ id: String, at offset: Int, _ body: String, complete: Bool, _ fields: [String] = []) throws -> Answer {
        let type = version >= 6 ? ["Content-Type: application/partial-upload"] : []
        let all = [versionField, completeness(complete), "Upload-Offset: \(offset)"] + type + fields
        return try client.ask("PATCH", "/resumable/\(id)", all, body)
    }

    func head(_ id: String) throws -> Answer {
        try client.ask("HEAD", "/resumable/\(id)", [versionField])
    }
}

extension LoopbackServerTests {
    @Suite struct Draft {
        @Test(arguments: [3, 5, 6, 7, 8])
        func storesAnUploadInPieces(version: Int) throws {
            let peer = try DraftPeer(version)
            try peer.client.begin(
                "PUT",
                "/upload",
                [peer.versionField, peer.completeness(false), "Upload-Length: 6"],
                length: 2
            )
            let limit = version >= 6 ? "Upload-Limit: min-size=0\r\n" : ""
            #expect(
                try peer.client.read(until: "\r\n\r\n")
                    == "HTTP/1.1 104 Upload Resumption Supported\r\nLocation: /resumable/r1\r\n\(peer.versionField)\r\n"
                    + "\(limit)\r\n"
            )
            try peer.client.write("ab")
            let created = try peer.client.answer()
            #expect(created.status == 201)
            #expect(created["Location"] == "/resumable/r1")
            #expect(created["Upload-Offset"] == (version <= 6 ? "2" : nil))
            let field = version == 3 ? "Upload-Incomplete" : "Upload-Complete"
            #expect(created[field] == (version == 3 ? "?1" : "?0"))

            let appended = try peer.patch("r1", at: 2, "cdef", complete: false)
            #expect(appended.status == 204)
            #expect(appended[field] == (version == 3 ? "?1" : "?0"))
            let head = try peer.head("r1")
            #expect(head.status == 204)
            #expect(head["Upload-Offset"] == "6")
            #expect(head["Upload-Length"] == (version >= 6 ? "6" : nil))
            #expect(head["Cache-Control"] == "no-store")
            #expect(head[field] == (version == 3 ? "?1" : "?0"))
            #expect(peer.store["r1"]?.isComplete == false)

            let finished = try peer.patch("r1", at: 6, "", complete: true)
            #expect(finished.status == 200)
            #expect(finished[field] == (version == 3 ? "?0" : "?1"))
            #expect(finished["Upload-Offset"] == (version <= 6 ? "6" : nil))
            #expect(try peer.head("r1")[field] == (version == 3 ? "?0" : "?1"))
            #expect(peer.store["r1"]?.isComplete == true)
            #expect(peer.store.lastText == "abcdef")
        }

        @Test func storesAnUploadAtOnce() throws {
            let peer = try DraftPeer()
            let answer = try peer.create("abc", complete: true)
            #expect(answer.head == "HTTP/1.1 200 OK\r\nUpload-Complete: ?1\r\nContent-Length: 0\r\n\r\n")
            #expect(peer.store.lastText == "abc")
            #expect(peer.store["r1"]?.length == 3)
            #expect(peer.store["r1"]?.isComplete == true)
        }

        @Test func sendsNo104WithoutTheVersion() throws {
            let peer = try DraftPeer()
            let answer = try peer.client.ask("POST", "/upload", ["Upload-Complete: ?0;a=b"], "")
            #expect(answer.status == 201)
            #expect(answer["Upload-Limit"] == "min-size=0")
            let silent = try DraftPeer(6, ResumableDraftServer(tellsLocation: false))
            #expect(try silent.create("", complete: false, interim: false).status == 201)
        }

        @Test func refusesOtherVersions() throws {
            let peer = try DraftPeer(6, ResumableDraftServer(versions: [5]))
            #expect(try peer.create("a", complete: true, interim: false).status == 400)
            #expect(try peer.head("r1").status == 400)
            #expect(peer.store.uploads.isEmpty)
        }

        @Test func tellsProgress() throws {
            let peer = try DraftPeer(8, ResumableDraftServer(interimOffsetInterval: 2))
            try peer.client.begin("POST", "/upload", [peer.versionField, "Upload-Complete: ?1"], length: 3)
            _ = try peer.client.read(until: "\r\n\r\n")
            try peer.client.write("ab")
            #expect(
                try peer.client.read(until: "\r\n\r\n")
                    == "HTTP/1.1 104 Upload Resumption Supported\r\nUpload-Offset: 2\r\n\(peer.versionField)\r\n\r\n"
            )
            try peer.client.write("c")
            #expect(try peer.client.answer().status == 200)
        }

        @Test(arguments: [6, 8])
        func announcesAndKeepsLimits(version: Int) throws {
            let limits = ResumableDraftServer.Limits(
                minimumSize: 2,
                maximumSize: 9,
                minimumAppendSize: 3,
                maximumAppendSize: 5,
                maximumAge: 60
            )
            let peer = try DraftPeer(version, ResumableDraftServer(limits: limits))
            let text =
                "min-size=2, max-size=9, min-append-size=3, max-append-size=5, \(version == 6 ? "expires" : "max-age")=60"
            #expect(try peer.client.ask("OPTIONS", "/upload", [peer.versionField])["Upload-Limit"] == text)
            #expect(try peer.create("a", complete: true, interim: false).status == 400)
            #expect(try peer.create("", complete: false, ["Upload-Length: 10"], interim: false).status == 413)
            #expect(try peer.create("123456", complete: false, interim: false).status == 413)
            #expect(try peer.create("12", complete: false, interim: false).status == 400)
            #expect(try peer.create("", complete: false)["Upload-Limit"] == text)
            #expect(try peer.patch("r1", at: 0, "12", complete: false).status == 400)
            #expect(try peer.patch("r1", at: 0, "12345", complete: false).status == 204)
            #expect(try peer.patch("r1", at: 5, "12345", complete: true).status == 413)
            #expect(try peer.head("r1")["Upload-Limit"] == text)
            #expect(try peer.patch("r1", at: 5, "1", complete: true).status == 200)
        }

        @Test func refusesBadAppends() throws {
            let peer = try DraftPeer()
            _ = try peer.create("ab", complete: false, ["Upload-Length: 4"])
            let wrong = try peer.patch("r1", at: 1, "c", complete: false)
            #expect(wrong.status == 409)
            #expect(wrong["Upload-Offset"] == "2")
            #expect(wrong["Content-Type"] == "application/problem+json")
            #expect(wrong.body.contains("#mismatching-upload-offset\""))
            #expect(wrong.body.contains("\"expected-offset\":2,\"provided-offset\":1"))
            func ask(_ fields: [String], _ body: String? = "c") throws -> Answer {
                try peer.client.ask("PATCH", "/resumable/r1", [peer.versionField] + fields, body)
            }
            let type = "Content-Type: application/partial-upload"
            #expect(try ask(["Upload-Offset: 2", "Upload-Complete: ?0"]).status == 415)
            #expect(try ask([type, "Upload-Offset: 2", "Upload-Complete: 0"]).status == 400)
            #expect(try ask([type, "Upload-Offset: -2", "Upload-Complete: ?0"]).status == 400)
            #expect(try ask([type, "Upload-Offset: 2", "Upload-Incomplete: ?1"]).status == 400)
            #expect(try ask([type, "Upload-Offset: 2", "Upload-Complete: ?0"], nil).status == 411)
            for (body, complete) in [("c", true), ("cde", false), ("cde", true)] {
                let answer = try peer.patch("r1", at: 2, body, complete: complete)
                #expect(answer.status == 400)
                #expect(answer.body.contains("#inconsistent-upload-length\""))
            }
            #expect(try peer.patch("r1", at: 2, "c", complete: false, ["Upload-Length: 3"]).status == 400)
            #expect(peer.store.lastText == "ab")
            #expect(try peer.patch("r1", at: 2, "cd", complete: true).status == 200)
            #expect(try peer.patch("r1", at: 4, "", complete: true).body.contains("#completed-upload\""))
            #expect(try peer.patch("r2", at: 0, "", complete: true).status == 404)
        }

        @Test func refusesStateWhereThereIsNone() throws {
            let peer = try DraftPeer()
            _ = try peer.create("ab", complete: false)
            let fields = [peer.versionField, "Upload-Offset: 2"]
            #expect(try peer.client.ask("HEAD", "/resumable/r1", fields).status == 400)
            #expect(try peer.client.ask("DELETE", "/resumable/r1", fields).status == 400)
            #expect(try peer.create("ab", complete: true, ["Upload-Offset: 0"], interim: false).status == 400)
            #expect(try peer.create("ab", complete: true, ["Upload-Length: 3"], interim: false).status == 400)
            #expect(try peer.client.ask("PUT", "/resumable/r1", [peer.versionField], "").status == 405)
        }

        @Test func cancels() throws {
            let peer = try DraftPeer(8, ResumableDraftServer(goneStatus: 410))
            _ = try peer.create("ab", complete: false)
            #expect(try peer.client.ask("GET", "/resumable/r1", [peer.versionField])["Upload-Offset"] == "2")
            #expect(try peer.client.ask("DELETE", "/resumable/r1", [peer.versionField]).status == 204)
            #expect(try peer.head("r1").status == 410)
        }

        @Test func takesPlainUploads() async throws {
            let peer = try DraftPeer()
            let answer = try peer.client.ask("PUT", "/upload", ["Upload-Complete: yes"], "abc")
            #expect(answer.head == "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            #expect(peer.store.lastText == "abc")
            #expect(peer.store.uploads.first?.isComplete == true)
        }

        @Test func knowsNothingIfNotSupported() throws {
            let peer = try DraftPeer(8, ResumableDraftServer(isSupported: false))
            #expect(try peer.client.ask("OPTIONS", "/upload", [peer.versionField])["Upload-Limit"] == nil)
            let answer = try peer.create("abc", complete: false, interim: false)
            #expect(answer.status == 200)
            #expect(answer["Upload-Complete"] == nil)
            #expect(peer.store.uploads.first?.isComplete == true)
            #expect(try peer.head("r1").status == 404)
        }

        @Test func asksForAToken() throws {
            let peer = try DraftPeer(8, ResumableDraftServer(requiresToken: "t"))
            #expect(try peer.create("abc", complete: true, interim: false).status == 401)
            #expect(try peer.create("abc", complete: true, ["Authorization: Bearer t"]).status == 200)
        }
    }

    @Suite struct DraftFaults {
        @Test(arguments: [6, 8])
        func keepsOnlyTheBeginning(version: Int) throws {
            let peer = try DraftPeer(version, ResumableDraftServer(script: on("POST", .keepOnly(2))))
            let answer = try peer.create("abcd", complete: true)
            #expect(answer.status == 201)
            #expect(answer["Upload-Complete"] == "?0")
            #expect(answer["Upload-Offset"] == "2")
            #expect(try peer.patch("r1", at: 2, "cd", complete: true).status == 200)
            #expect(peer.store.lastText == "abcd")
        }

        @Test func cutsACreationOff() throws {
            let peer = try DraftPeer(8, ResumableDraftServer(script: on("POST", .resetAfter(4))))
            #expect(throws: Client.Failure.self) { try peer.create("abcd", complete: true) }
            let next = try Client(port: peer.server.port)
            let head = try next.ask("HEAD", "/resumable/r1", [peer.versionField])
            #expect(head["Upload-Offset"] == "4")
            #expect(head["Upload-Complete"] == "?0")
        }

        @Test func losesTheReply() throws {
            let peer = try DraftPeer(8, ResumableDraftServer(script: on("POST", .loseReply)))
            #expect(throws: Client.Failure.self) { try peer.create("abcd", complete: true) }
            #expect(peer.store["r1"]?.isComplete == true)
        }

        @Test func liesAboutTheOffset() throws {
            let peer = try DraftPeer(8, ResumableDraftServer { $0.uploadID == nil ? nil : .claimOffset(9) })
            _ = try peer.create("ab", complete: false)
            #expect(try peer.head("r1")["Upload-Offset"] == "9")
            #expect(try peer.patch("r1", at: 7, "c", complete: false)["Upload-Offset"] == "9")
            #expect(try peer.patch("r1", at: 2, "c", complete: false)["Upload-Offset"] == "9")
        }

        @Test func goesBackwards() throws {
            let peer = try DraftPeer(8, ResumableDraftServer(script: on("HEAD", .truncate(to: 1))))
            _ = try peer.create("ab", complete: true)
            let head = try peer.head("r1")
            #expect(head["Upload-Offset"] == "1")
            #expect(head["Upload-Complete"] == "?0")
        }

        @Test func namesTwoLocations() throws {
            let script: Script = [.interimLocation("/a"), .location("/b")]
            let peer = try DraftPeer(8, ResumableDraftServer(script: on("POST", script)))
            try peer.client.begin("POST", "/upload", [peer.versionField, "Upload-Complete: ?0"], length: 0)
            #expect(try peer.client.read(until: "\r\n\r\n").contains("\r\nLocation: /a\r\n"))
            #expect(try peer.client.answer()["Location"] == "/b")
        }

        @Test func interruptsWhatIsStillRunning() async throws {
            let peer = try DraftPeer()
            try peer.client.begin("POST", "/upload", [peer.versionField, "Upload-Complete: ?1"], length: 9)
            try peer.client.write("abc")
            try await peer.server.wait { $0.requests.last?.bodyByteCount == 3 }
            let next = try Client(port: peer.server.port)
            #expect(try next.ask("HEAD", "/resumable/r1", [peer.versionField])["Upload-Offset"] == "3")
            #expect(throws: Client.Failure.self) { try peer.client.readToEnd() }
        }
    }
}
