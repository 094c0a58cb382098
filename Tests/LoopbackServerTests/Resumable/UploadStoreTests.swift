import Foundation
import LoopbackServer
import Testing

extension LoopbackServerTests {
    @Suite struct Stores {
        @Test func outlivesAServer() throws {
            let store = UploadStore()
            let first = try TusPeer(TusServer(store: store))
            _ = try first.create(["Upload-Length: 6"])
            _ = try first.patch("u1", at: 0, "abc")
            first.server.stop()
            let second = try TusPeer(TusServer(store: store))
            #expect(try second.head("u1")["Upload-Offset"] == "3")
            #expect(try second.patch("u1", at: 3, "def").status == 204)
            #expect(try second.create(["Upload-Length: 6"])["Location"] == "/files/u2")
            #expect(store["u1"]?.data == Data("abcdef".utf8))
        }

        @Test func keepsDigests() throws {
            let store = UploadStore(.digest)
            let peer = try TusPeer(TusServer(store: store))
            _ = try peer.create(["Upload-Length: 6"])
            _ = try peer.patch("u1", at: 0, "abc")
            _ = try peer.patch("u1", at: 3, "def")
            #expect(store["u1"]?.data == nil)
            #expect(store["u1"]?.digest == BodyDigest.of(Data("abcdef".utf8)))
            #expect(peer.server.requests[2].digest == BodyDigest.of(Data("def".utf8)))
            #expect(!store.truncate("u1", to: 2))
            #expect(store["u1"]?.offset == 6)
            #expect(store.truncate("u1", to: 0))
            #expect(try peer.patch("u1", at: 0, "xy").status == 204)
            #expect(store["u1"]?.digest == BodyDigest.of(Data("xy".utf8)))
        }

        @Test func counts() throws {
            let store = UploadStore(.count)
            let peer = try TusPeer(TusServer(store: store))
            let body = String(repeating: "x", count: 3_000_000)
            _ = try peer.create(["Upload-Length: \(body.utf8.count)"])
            #expect(try peer.patch("u1", at: 0, body).status == 204)
            #expect(store["u1"]?.offset == 3_000_000)
            #expect(store["u1"]?.isComplete == true)
            #expect(store["u1"]?.digest == nil)
            #expect(store.truncate("u1", to: 2))
            #expect(try peer.head("u1")["Upload-Offset"] == "2")
        }

        @Test func truncates() throws {
            let peer = try TusPeer()
            _ = try peer.create(["Upload-Length: 3"])
            _ = try peer.patch("u1", at: 0, "abc")
            #expect(!peer.store.truncate("u1", to: 3))
            #expect(!peer.store.truncate("u1", to: -1))
            #expect(!peer.store.truncate("u2", to: 0))
            #expect(peer.store.truncate("u1", to: 1))
            #expect(peer.store.lastText == "a")
            peer.store.forget("u1")
            #expect(peer.store["u1"]?.data == nil)
            #expect(try peer.head("u1").status == 404)
        }

        @Test func continuesWhenExpected() throws {
            let peer = try TusPeer()
            _ = try peer.create(["Upload-Length: 3"])
            let fields = [TusPeer.version, TusPeer.type, "Expect: 100-continue"]
            try peer.client.begin("PATCH", "/files/u1", fields + ["Upload-Offset: 0"], length: 3)
            #expect(try peer.client.read(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
            try peer.client.write("abc")
            #expect(try peer.client.answer().status == 204)
            try peer.client.begin("PATCH", "/files/u1", fields + ["Upload-Offset: 1"], length: 3)
            #expect(try peer.client.answer().status == 409)
        }
    }
}
