import Foundation
import LoopbackServer
import Testing

/// A tus client that does what it is told.
struct TusPeer {
    let server: LoopbackServer
    let client: Client
    let store: UploadStore

    init(_ tus: TusServer = TusServer()) throws {
        server = try LoopbackServer()
        store = tus.store
        tus.install(on: server)
        client = try Client(port: server.port)
    }

    static let version = "Tus-Resumable: 1.0.0"
    static let type = "Content-Type: application/offset+octet-stream"

    func create(_ fields: [String], _ body: String = "") throws -> Answer {
        try client.ask("POST", "/files", [Self.version] + fields, body)
    }

    func patch(_ id: String, at offset: Int, _ body: String, _ fields: [String] = []) throws -> Answer {
        let all = [Self.version, Self.type, "Upload-Offset: \(offset)"] + fields
        return try client.ask("PATCH", "/files/\(id)", all, body)
    }

    func head(_ id: String) throws -> Answer {
        try client.ask("HEAD", "/files/\(id)", [Self.version])
    }
}

extension LoopbackServerTests {
    @Suite struct Tus {
        @Test func storesAnUploadInPieces() throws {
            let peer = try TusPeer()
            let created = try peer.create(["Upload-Length: 10", "Upload-Metadata: filename YS50eHQ=,flag"])
            #expect(
                created.head
                    == "HTTP/1.1 201 Created\r\nLocation: /files/u1\r\nTus-Resumable: 1.0.0\r\nContent-Length: 0\r\n\r\n"
            )
            #expect(
                try peer.patch("u1", at: 0, "01234").head
                    == "HTTP/1.1 204 No Content\r\nUpload-Offset: 5\r\nTus-Resumable: 1.0.0\r\n\r\n"
            )
            let half = try peer.head("u1")
            #expect(half.status == 200)
            #expect(half["Upload-Offset"] == "5")
            #expect(half["Upload-Length"] == "10")
            #expect(half["Cache-Control"] == "no-store")
            #expect(half["Upload-Metadata"] == "filename YS50eHQ=,flag")
            #expect(peer.store["u1"]?.isComplete == false)
            #expect(try peer.patch("u1", at: 5, "56789")["Upload-Offset"] == "10")
            let upload = try #require(peer.store["u1"])
            #expect(upload.data == Data("0123456789".utf8))
            #expect(upload.digest == BodyDigest.of(Data("0123456789".utf8)))
            #expect(upload.isComplete)
            #expect(upload.name == "/files")
            #expect(upload.field("upload-metadata") == "filename YS50eHQ=,flag")
            #expect(peer.server.requests.map(\.bodyByteCount) == [0, 5, 0, 5])
            #expect(peer.server.requests.map(\.status) == [201, 204, 200, 204])
            #expect(peer.server.requests[3].body == Data("56789".utf8))
        }

        @Test func tellsWhatItCan() throws {
            let peer = try TusPeer(TusServer(extensions: [.creation, .termination], maximumSize: 99))
            let answer = try peer.client.ask("OPTIONS", "/files")
            #expect(answer.status == 204)
            #expect(answer["Tus-Version"] == "1.0.0")
            #expect(answer["Tus-Extension"] == "creation,termination")
            #expect(answer["Tus-Max-Size"] == "99")
            #expect(answer["Tus-Resumable"] == nil)
            let bare = try TusPeer(TusServer(extensions: []))
            #expect(try bare.client.ask("OPTIONS", "/files")["Tus-Extension"] == nil)
            #expect(try bare.create(["Upload-Length: 1"]).status == 405)
        }

        @Test(arguments: [
            (["Upload-Length: -1"], 400), (["Upload-Length: +1"], 400), ([], 400),
            (["Upload-Length: 1", "Upload-Length: 1"], 400), (["Upload-Length: 1", "Upload-Defer-Length: 1"], 400),
            (["Upload-Defer-Length: 2"], 400), (["Upload-Length: 21"], 413), (["Upload-Length: 20"], 201),
            (["Upload-Length: 1", "Upload-Metadata: a b"], 400), (["Upload-Length: 1", "Upload-Metadata: a,a"], 400),
            (["Upload-Length: 1", "Upload-Metadata: a YQ==, b YQ=="], 400),
            (["Upload-Length: 1", "Upload-Concat: some"], 400), (["Upload-Length: 1", "Upload-Concat: final;/u"], 400),
        ])
        func refusesBadCreations(fields: [String], status: Int) throws {
            let peer = try TusPeer(TusServer(maximumSize: 20))
            #expect(try peer.create(fields).status == status)
            #expect(peer.store.uploads.count == (status == 201 ? 1 : 0))
        }

        @Test func refusesWhatItDoesNotOffer() throws {
            let peer = try TusPeer(TusServer(extensions: [.creation]))
            #expect(try peer.create(["Upload-Defer-Length: 1"]).status == 400)
            #expect(try peer.create(["Upload-Length: 1", "Upload-Concat: partial"]).status == 400)
            #expect(try peer.create(["Upload-Length: 1", TusPeer.type], "x").status == 400)
            #expect(try peer.create(["Upload-Length: 1"]).status == 201)
            #expect(try peer.client.ask("DELETE", "/files/u1", [TusPeer.version]).status == 405)
            #expect(try peer.client.ask("POST", "/files", [TusPeer.version, "Upload-Length: 1"]).status == 411)
            #expect(peer.store.uploads.count == 1)
        }

        @Test(arguments: [[], ["Tus-Resumable: 0.2.2"], [TusPeer.version, TusPeer.version]])
        func insistsOnItsVersion(fields: [String]) throws {
            let peer = try TusPeer()
            let answer = try peer.client.ask("POST", "/files", fields + ["Upload-Length: 1"], "")
            #expect(answer.status == (fields.count == 2 ? 400 : 412))
            #expect(answer["Tus-Version"] == (fields.count == 2 ? nil : "1.0.0"))
            #expect(peer.store.uploads.isEmpty)
        }

        @Test func refusesBadPatches() throws {
            let peer = try TusPeer()
            _ = try peer.create(["Upload-Length: 4"])
            _ = try peer.patch("u1", at: 0, "ab")
            func status(_ fields: [String], _ body: String? = "c") throws -> Int {
                try peer.client.ask("PATCH", "/files/u1", [TusPeer.version] + fields, body).status
            }
            #expect(try status(["Upload-Offset: 2"]) == 415)
            #expect(try status(["Upload-Offset: 2", "Content-Type: text/plain"]) == 415)
            #expect(try status([TusPeer.type]) == 400)
            #expect(try status([TusPeer.type, "Upload-Offset: 0x2"]) == 400)
            #expect(try status([TusPeer.type, "Upload-Offset: 2", "Upload-Offset: 2"]) == 400)
            #expect(try status([TusPeer.type, "Upload-Offset: 1"]) == 409)
            #expect(try status([TusPeer.type, "Upload-Offset: 3"]) == 409)
            #expect(try status([TusPeer.type, "Upload-Offset: 2", "Upload-Length: 5"]) == 400)
            #expect(try status([TusPeer.type, "Upload-Offset: 2"], "cde") == 413)
            #expect(try status([TusPeer.type, "Upload-Offset: 2"], nil) == 411)
            #expect(try peer.patch("u2", at: 0, "ab").status == 404)
            #expect(try peer.head("u2").status == 404)
            #expect(try peer.head("u2")["Upload-Offset"] == nil)
            #expect(peer.store.lastText == "ab")
            #expect(try peer.patch("u1", at: 2, "cd").status == 204)
        }

        @Test func keepsChunkedBodiesWithinTheLength() throws {
            let peer = try TusPeer()
            _ = try peer.create(["Upload-Length: 4"])
            let fields = [TusPeer.version, TusPeer.type, "Upload-Offset: 0", "Transfer-Encoding: chunked"]
            try peer.client.begin("PATCH", "/files/u1", fields)
            try peer.client.write("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
            #expect(try peer.client.answer().status == 413)
            #expect(peer.store.lastText == "abcd")
        }

        @Test func forgetsWhatIsCreatedWithTooMuch() throws {
            let peer = try TusPeer()
            let fields = [TusPeer.version, TusPeer.type, "Upload-Length: 2", "Transfer-Encoding: chunked"]
            try peer.client.begin("POST", "/files", fields)
            try peer.client.write("3\r\nabc\r\n0\r\n\r\n")
            #expect(try peer.client.answer().status == 413)
            #expect(peer.store["u1"]?.isGone == true)
        }

        @Test func createsWithABody() throws {
            let peer = try TusPeer()
            let answer = try peer.create(["Upload-Length: 3", TusPeer.type], "ab")
            #expect(answer.status == 201)
            #expect(answer["Upload-Offset"] == "2")
            #expect(peer.store.lastText == "ab")
            #expect(try peer.create(["Upload-Length: 3"], "ab").status == 415)
            #expect(try peer.create(["Upload-Length: 1", TusPeer.type], "ab").status == 413)
            #expect(try peer.create(["Upload-Length: 0"])["Upload-Offset"] == nil)
            #expect(peer.store.uploads.last?.isComplete == true)
        }

        @Test func learnsTheLengthLater() throws {
            let peer = try TusPeer(TusServer(maximumSize: 5))
            #expect(try peer.create(["Upload-Defer-Length: 1"]).status == 201)
            #expect(try peer.patch("u1", at: 0, "abc").status == 204)
            let head = try peer.head("u1")
            #expect(head["Upload-Defer-Length"] == "1")
            #expect(head["Upload-Length"] == nil)
            #expect(try peer.patch("u1", at: 3, "def").status == 413)
            #expect(try peer.patch("u1", at: 3, "", ["Upload-Length: 2"]).status == 400)
            #expect(try peer.patch("u1", at: 3, "", ["Upload-Length: 6"]).status == 413)
            #expect(peer.store["u1"]?.isComplete == false)
            #expect(try peer.patch("u1", at: 3, "", ["Upload-Length: 3"]).status == 204)
            #expect(peer.store["u1"]?.isComplete == true)
            #expect(try peer.head("u1")["Upload-Length"] == "3")
            #expect(try peer.head("u1")["Upload-Defer-Length"] == nil)
        }

        @Test(arguments: [404, 410])
        func expires(status: Int) throws {
            let peer = try TusPeer(TusServer(lifetime: 600, goneStatus: status))
            let created = try peer.create(["Upload-Length: 4"])
            #expect(created["Upload-Expires"]?.hasSuffix(" GMT") == true)
            #expect(try peer.patch("u1", at: 0, "ab")["Upload-Expires"]?.utf8.count == 29)
            peer.store.age("u1", by: 601)
            #expect(try peer.head("u1").status == status)
            #expect(try peer.patch("u1", at: 2, "cd").status == status)
            #expect(peer.store["u1"]?.isGone == true)
        }

        @Test func terminates() throws {
            let peer = try TusPeer(TusServer(goneStatus: 410))
            _ = try peer.create(["Upload-Length: 4"])
            let fields = [TusPeer.version, "X-HTTP-Method-Override: DELETE"]
            #expect(try peer.client.ask("POST", "/files/u1", fields, "").status == 204)
            #expect(try peer.head("u1").status == 410)
            #expect(try peer.client.ask("DELETE", "/files/u1", [TusPeer.version]).status == 410)
        }

        @Test func joinsParts() throws {
            let peer = try TusPeer()
            for part in ["abc", "de"] {
                _ = try peer.create(["Upload-Length: \(part.utf8.count)", "Upload-Concat: partial"])
            }
            _ = try peer.patch("u1", at: 0, "abc")
            let base = "http://h:1"
            let final = ["Host: h:1", "Upload-Concat: final;\(base)/files/u1 /files/u2"]
            #expect(try peer.create(final).status == 400)
            _ = try peer.patch("u2", at: 0, "de")
            #expect(try peer.create(final + ["Upload-Length: 5"]).status == 400)
            #expect(try peer.create(["Upload-Concat: final;/files/u1  /files/u2"]).status == 400)
            #expect(try peer.create(["Upload-Concat: final;/u1 /files/u2"]).status == 400)
            #expect(try peer.create(final)["Location"] == "/files/u3")
            #expect(peer.store.lastText == "abcde")
            #expect(try peer.patch("u3", at: 5, "").status == 403)
            let head = try peer.head("u3")
            #expect(head["Upload-Offset"] == "5")
            #expect(head["Upload-Length"] == "5")
            #expect(head["Upload-Concat"] == "final;\(base)/files/u1 /files/u2")
        }

        @Test(arguments: [
            (TusServer.LocationStyle.path, "/files/u1"), (.relative, "files/u1"), (.absolute, "http://h:8/files/u1"),
        ])
        func namesUploadsInItsStyle(style: TusServer.LocationStyle, location: String) throws {
            let peer = try TusPeer(TusServer(locationStyle: style))
            #expect(try peer.create(["Host: h:8", "Upload-Length: 1"])["Location"] == location)
        }

        @Test func asksForAToken() throws {
            let peer = try TusPeer(TusServer(requiresToken: "t"))
            #expect(try peer.create(["Upload-Length: 1"]).status == 401)
            #expect(try peer.create(["Upload-Length: 1", "Authorization: Bearer x"]).status == 401)
            #expect(try peer.create(["Upload-Length: 1", "Authorization: Bearer t"]).status == 201)
        }
    }
}
