import Foundation
import LoopbackServer
import Testing

/// A client of storage sessions that does what it is told.
struct GCSPeer {
    static let chunk = String(repeating: "c", count: 256 << 10)
    static let start = "/upload/storage/v1/b/b/o?uploadType=resumable&name=a%20b"

    let server: LoopbackServer
    let client: Client
    let store: UploadStore
    let session: String

    /// Starts a session as well.
    init(_ gcs: GCSServer = GCSServer(), _ fields: [String] = []) throws {
        server = try LoopbackServer()
        store = gcs.store
        gcs.install(on: server)
        client = try Client(port: server.port)
        let location = try client.ask("POST", Self.start, ["Host: h:1"] + fields, "")["Location"] ?? ""
        session = String(location.dropFirst("http://h:1".utf8.count))
    }

    func put(_ range: String?, _ body: String? = "") throws -> Answer {
        try client.ask("PUT", session, range.map { ["Content-Range: bytes \($0)"] } ?? [], body)
    }
}

extension LoopbackServerTests {
    @Suite struct GCS {
        @Test func storesAnObjectInChunks() throws {
            let peer = try GCSPeer()
            #expect(peer.session == "\(GCSPeer.start)&upload_id=AEnB2U+1:a-b_c")
            let size = 262_144
            #expect(
                try peer.put("*/*").head == "HTTP/1.1 308 Resume Incomplete\r\nContent-Length: 0\r\n\r\n"
            )
            #expect(
                try peer.put("0-\(size - 1)/*", GCSPeer.chunk).head
                    == "HTTP/1.1 308 Resume Incomplete\r\nRange: bytes=0-262143\r\nContent-Length: 0\r\n\r\n"
            )
            #expect(try peer.put("*/\(size + 3)")["Range"] == "bytes=0-262143")
            #expect(peer.store.uploads[0].isComplete == false)
            let done = try peer.put("\(size)-\(size + 2)/\(size + 3)", "end")
            #expect(done.status == 200)
            #expect(done["Content-Type"] == "application/json")
            #expect(done.body == "{\"kind\":\"storage#object\",\"name\":\"a b\",\"size\":\"262147\"}")
            #expect(peer.store.lastText == GCSPeer.chunk + "end")
            #expect(peer.store.uploads[0].isComplete)
            #expect(try peer.put("*/\(size + 3)").body == done.body)
            #expect(try peer.put("*/*").body == done.body)
            #expect(try peer.put(nil, "x").status == 400)
        }

        @Test func storesAnObjectAtOnce() throws {
            let peer = try GCSPeer(GCSServer(), ["X-Upload-Content-Length: 3"])
            #expect(try peer.put(nil, "ab").status == 400)
            #expect(try peer.put("*/4").status == 400)
            #expect(try peer.put(nil, "abc").status == 200)
            #expect(peer.store.lastText == "abc")
            #expect(try GCSPeer().put(nil).body.contains("\"size\":\"0\""))
            #expect(try GCSPeer().put("*/0").body.contains("\"size\":\"0\""))
        }

        @Test func finishesOnceTheTotalIsKnown() throws {
            let peer = try GCSPeer()
            #expect(try peer.put("0-262143/*", GCSPeer.chunk).status == 308)
            #expect(try peer.put("*/262145").status == 308)
            #expect(try peer.put("*/262143").status == 400)
            #expect(try peer.put("*/262144").status == 200)
        }

        @Test(arguments: [
            ("0-2/*", "abc"), ("0-2/4", "abc"), ("0-2/3", "ab"), ("1-3/4", "abc"), ("*/3", "abc"), ("0-2/2", "abc"),
            ("2-0/3", "abc"), ("0-2", "abc"), ("0-2/3/3", "abc"), ("0 - 2/3", "abc"),
        ])
        func refusesBadRanges(range: String, body: String) throws {
            let peer = try GCSPeer()
            #expect(try peer.put(range, body).status == 400)
            #expect(peer.store.uploads[0].offset == 0)
            #expect(try peer.put("0-2/3", "abc").status == 200)
        }

        @Test func refusesWhatIsNoSession() throws {
            let peer = try GCSPeer()
            let encoded = peer.session.replacingOccurrences(of: "+", with: "%2B")
            #expect(try peer.client.ask("PUT", encoded, [], "a").status == 404)
            let renamed = peer.session.replacingOccurrences(of: "%20", with: "+")
            #expect(try peer.client.ask("PUT", renamed, [], "a").status == 404)
            #expect(try peer.client.ask("PUT", peer.session, []).status == 411)
            #expect(try peer.client.ask("GET", peer.session, []).status == 405)
            let target = "/upload/storage/v1/b/b/o?uploadType="
            #expect(try peer.client.ask("POST", target + "media&name=a", [], "").status == 400)
            #expect(try peer.client.ask("POST", target + "resumable", [], "").status == 400)
            #expect(try peer.client.ask("POST", target + "resumable&name=a", []).status == 411)
            let json = ["Content-Type: application/json; charset=UTF-8"]
            #expect(try peer.client.ask("POST", target + "resumable", json, "{\"name\":\"n\"}").status == 200)
            #expect(try peer.client.ask("POST", target + "resumable", [], "{\"name\":\"n\"}").status == 400)
            #expect(try peer.client.ask("POST", target + "resumable&name=a", json, "[]").status == 400)
            #expect(peer.store.uploads.map(\.name) == ["a b", "n"])
        }

        @Test(arguments: [404, 410])
        func cancels(status: Int) throws {
            let peer = try GCSPeer(GCSServer(goneStatus: status))
            #expect(try peer.client.ask("DELETE", peer.session, []).status == 411)
            #expect(try peer.client.ask("DELETE", peer.session, [], "").status == 499)
            #expect(try peer.put("*/*").status == status)
        }

        @Test func asksForATokenAtTheStartOnly() throws {
            #expect(try GCSPeer(GCSServer(requiresToken: "t")).session == "")
            let peer = try GCSPeer(GCSServer(requiresToken: "t"), ["Authorization: Bearer t"])
            #expect(try peer.put("0-2/3", "abc").status == 200)
        }
    }

    @Suite struct GCSFaults {
        @Test func keepsOnlyTheBeginning() throws {
            let peer = try GCSPeer(GCSServer(script: on("PUT", 1, .keepOnly(2))))
            #expect(try peer.put("0-3/4", "abcd")["Range"] == "bytes=0-1")
            #expect(try peer.put("2-3/4", "cd").status == 200)
            #expect(peer.store.lastText == "abcd")
            let none = try GCSPeer(GCSServer(script: on("PUT", 1, .keepOnly(0))))
            let answer = try none.put(nil, "abcd")
            #expect(answer.status == 308)
            #expect(answer["Range"] == nil)
        }

        @Test func cutsAChunkOff() throws {
            let peer = try GCSPeer(GCSServer(script: on("PUT", 1, .resetAfter(2))))
            #expect(throws: Client.Failure.self) { try peer.put("0-3/4", "abcd") }
            let next = try Client(port: peer.server.port)
            #expect(try next.ask("PUT", peer.session, ["Content-Range: bytes */4"], "")["Range"] == "bytes=0-1")
        }

        @Test func losesTheReply() throws {
            let peer = try GCSPeer(GCSServer(script: on("PUT", 1, .loseReply)))
            #expect(throws: Client.Failure.self) { try peer.put("0-3/4", "abcd") }
            let next = try Client(port: peer.server.port)
            let status = try next.ask("PUT", peer.session, ["Content-Range: bytes */4"], "")
            #expect(status.status == 200)
            #expect(status.body.contains("\"size\":\"4\""))
        }

        @Test func liesAndForgets() throws {
            let peer = try GCSPeer(
                GCSServer { request in
                    switch request.header("Content-Range") {
                    case "bytes */*": .claimOffset(9)
                    case "bytes */2": .forget
                    default: nil
                    }
                }
            )
            _ = try peer.put("0-262143/*", GCSPeer.chunk)
            #expect(try peer.put("*/*")["Range"] == "bytes=0-8")
            peer.store.truncate(peer.store.uploads[0].id, to: 1)
            #expect(try peer.put("*/2").status == 404)
            #expect(try peer.put("*/*").status == 404)
        }

        @Test func goesBackwards() throws {
            let peer = try GCSPeer(GCSServer(script: on("PUT", 2, .truncate(to: 7))))
            _ = try peer.put("0-262143/*", GCSPeer.chunk)
            #expect(try peer.put("*/*")["Range"] == "bytes=0-6")
        }
    }
}
