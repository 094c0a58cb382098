@testable import AsyncUpload
import Foundation
import LoopbackServer
import Testing

extension OverTheWire {
    /// Redirects, 401 and their like: cases C01, C24, C25, C27 to C29.
    @Suite struct Redirects {
        @Test(
            "A server that answers early and then closes gets the next request on another connection",
            .disabled(if: Carrier.underTest == .native, "which connection it takes is its own choice"),
            arguments: BodyKind.allCases
        )
        func earlyRedirect(kind: BodyKind) async throws {
            let lane = try Lane()
            lane.server.route("POST", "/from") { exchange in
                try exchange.respond(307, headers: [("Location", "/to")])
                try exchange.readBody()
                // Long enough for a request that comes here to be lost.
                try exchange.wait(.milliseconds(100))
                exchange.reset()
            }
            lane.server.route("POST", "/to", LoopbackServer.accept(keeping: true))
            for _ in 0..<5 {
                let seen = try await lane.upload(bytes(400_000), as: kind, to: "/from", method: "POST")
                #expect(seen.response != nil, "\(String(describing: seen.error))")
                #expect(lane.server.requests.last?.body == bytes(400_000))
            }
        }

        @Test(
            "C24: 307 and 308 send the whole body again",
            arguments: [307, 308],
            BodyKind.endingEarly
        )
        func resends(status: Int, kind: BodyKind) async throws {
            for (method, readingBody) in [("PUT", true), ("PUT", false), ("POST", true), ("POST", false)] {
                for count in [0, 10, 5_000_000] {
                    let lane = try Lane()
                    lane.server.route(
                        nil,
                        "/from",
                        LoopbackServer.redirect(status: status, to: "/ok", readingBody: readingBody)
                    )
                    lane.server.route(nil, "/ok", LoopbackServer.accept(digesting: true, body: "ok"))
                    let data = bytes(count)
                    let seen = try await lane.upload(data, as: kind, to: "/from", method: method)
                    #expect(seen.text == "ok")
                    let last = try #require(lane.server.requests.last)
                    #expect(last.path == "/ok")
                    #expect(last.method == method)
                    #expect(last.digest == BodyDigest.of(data))
                    #expect(lane.server.requests.count == 2)
                }
            }
        }

        @Test(
            "C25: 301 and 302 keep PUT with its body, and make a GET of POST",
            arguments: [301, 302],
            BodyKind.allCases
        )
        func moved(status: Int, kind: BodyKind) async throws {
            let lane = try Lane()
            lane.server.route(nil, "/from", LoopbackServer.redirect(status: status, to: "/ok"))
            lane.server.route(nil, "/ok", LoopbackServer.accept(digesting: true))
            let data = bytes(1_000_000)
            #expect(try await lane.upload(data, as: kind, to: "/from", method: "PUT").response != nil)
            #expect(lane.server.requests.last?.method == "PUT")
            #expect(lane.server.requests.last?.digest == BodyDigest.of(data))
            #expect(try await lane.upload(data, as: kind, to: "/from", method: "POST").response != nil)
            #expect(lane.server.requests.last?.method == "GET")
            #expect(lane.server.requests.last?.header("Content-Length") == nil)
        }

        @Test(
            "303 makes a GET; if the body had not been sent by then, that is no success",
            arguments: BodyKind.endingEarly
        )
        func seeOther(kind: BodyKind) async throws {
            let lane = try Lane()
            lane.server.route(nil, "/late", LoopbackServer.redirect(status: 303, to: "/ok"))
            lane.server.route(nil, "/early", LoopbackServer.redirect(status: 303, to: "/ok", readingBody: false))
            lane.server.route("GET", "/ok", LoopbackServer.accept(body: "got"))
            let data = bytes(30_000_000)
            #expect(try await lane.upload(data, as: kind, to: "/late").text == "got")
            #expect(lane.server.requests.first?.bodyByteCount == 30_000_000)
            #expect(try await lane.upload(data, as: kind, to: "/early").code == .bodyNotSent)
        }

        @Test("C27: secrets stay behind when the origin changes", arguments: BodyKind.allCases)
        func secrets(kind: BodyKind) async throws {
            let lane = try Lane()
            let other = try LoopbackServer()
            other.route(nil, "/ok", LoopbackServer.accept(digesting: true))
            lane.server.route(nil, "/here", LoopbackServer.redirect(status: 307, to: "/ok"))
            lane.server.route(nil, "/ok", LoopbackServer.sink)
            let target = other.url("/ok", host: "localhost").absoluteString
            lane.server.route(nil, "/away", LoopbackServer.redirect(status: 307, to: target))
            let data = bytes(100_000)
            let names = ["Authorization", "Cookie", "X-Api-Key"]
            for path in ["/here", "/away"] {
                var request = lane.request(path)
                for name in names { request.setValue("secret", forHTTPHeaderField: name) }
                request.setValue("kept", forHTTPHeaderField: "X-Other")
                let body = try kind.body(data, in: lane.scratch)
                let response = try await lane.uploader.response(for: request, from: body)
                #expect(response.url?.path == "/ok")
            }
            let here = try #require(lane.server.requests.first { $0.path == "/ok" })
            #expect(names.map { here.header($0) } == ["secret", "secret", "secret"])
            let away = try #require(other.requests.first)
            #expect(names.map { away.header($0) } == [nil, nil, nil])
            #expect(away.header("X-Other") == "kept")
            #expect(away.digest == BodyDigest.of(data))
            #expect(away.header("Host") == "localhost:\(other.port)")
        }

        @Test("C28: loops end, and bad targets are refused", arguments: BodyKind.allCases)
        func badRedirects(kind: BodyKind) async throws {
            let lane = try Lane()
            lane.server.route(nil, "/loop", LoopbackServer.redirect(status: 307, to: "/loop"))
            lane.server.route(nil, "/file", LoopbackServer.redirect(status: 307, to: "file:///etc/hostname"))
            lane.server.route(nil, "/garbled", LoopbackServer.redirect(status: 307, to: "ht!tp://[x"))
            lane.server.route(nil, "/nowhere", LoopbackServer.accept(status: 307, body: "no idea"))
            #expect(try await lane.upload(bytes(10), as: kind, to: "/loop").code == .tooManyRedirects)
            #expect(lane.server.requests.count == 21)
            #expect(try await lane.upload(bytes(10), as: kind, to: "/file").code == .redirectRefused)
            #expect(try await lane.upload(bytes(10), as: kind, to: "/garbled").code == .redirectRefused)
            let nowhere = try await lane.upload(bytes(10), as: kind, to: "/nowhere")
            #expect(nowhere.code == .unacceptableStatus)
            #expect(nowhere.refusedStatus == 307)
        }

        @Test("Redirects are not followed when that is asked for")
        func refusePolicy() async throws {
            let lane = try Lane { $0.redirects = .refuse }
            lane.server.route(nil, "/from", LoopbackServer.redirect(status: 307, to: "/ok"))
            let seen = try await lane.upload(bytes(10), as: .data, to: "/from")
            #expect(seen.refusedStatus == 307)
            #expect(lane.server.requests.count == 1)
        }

        @Test(
            "C29: a 401 without a credential is the answer, with its body, at once",
            arguments: BodyKind.endingEarlyByCarrier
        )
        func challengeUnanswered(carrier: Carrier, kind: BodyKind) async throws {
            for readingBody in [true, false] {
                let lane = try Lane(carrier)
                lane.server.route(nil, "/x") { exchange in
                    if readingBody { try exchange.readBody() }
                    let challenge = [("WWW-Authenticate", "Basic realm=\"r\""), ("Connection", "close")]
                    try exchange.respond(401, headers: challenge, body: "who are you?")
                }
                let seen = try await lane.upload(bytes(1_000_000), as: kind, to: "/x")
                let error = try #require(seen.error as? UploadError)
                #expect(error.code == .unacceptableStatus)
                #expect(error.response?.statusCode == 401)
                #expect(error.response?.text() == "who are you?")
                #expect(lane.server.requests.count == 1)
            }
        }

        @Test(
            "C01: a challenge is answered once, with the whole body, and progress stays in 0...1",
            arguments: Carrier.allCases,
            BodyKind.allCases
        )
        func challengeAnswered(carrier: Carrier, kind: BodyKind) async throws {
            let lane = try Lane(carrier) {
                $0.credential = URLCredential(user: "user", password: "secret", persistence: .none)
            }
            lane.server.route(nil, "/right", LoopbackServer.unauthorized(user: "user", password: "secret"))
            lane.server.route(nil, "/wrong", LoopbackServer.unauthorized(user: "user", password: "other"))
            let right = try await lane.upload(bytes(200_000), as: kind, to: "/right")
            #expect(right.response != nil)
            #expect(lane.server.requests.map(\.bodyByteCount) == [200_000, 200_000])
            let wrong = try await lane.upload(bytes(200_000), as: kind, to: "/wrong")
            #expect(wrong.refusedStatus == 401)
            #expect(lane.server.requests.count == 4)
        }

        @Test("A credential is not given to an origin that the upload was redirected to")
        func credentialStaysHome() async throws {
            let lane = try Lane { $0.credential = URLCredential(user: "u", password: "p", persistence: .none) }
            let other = try LoopbackServer()
            other.route(nil, "/*", LoopbackServer.unauthorized(user: "u", password: "p"))
            lane.server.route(nil, "/x", LoopbackServer.redirect(status: 307, to: other.url("/x").absoluteString))
            let seen = try await lane.upload(bytes(10), as: .data, to: "/x")
            #expect(seen.refusedStatus == 401)
            #expect(other.requests.map { $0.header("Authorization") } == [nil])
        }
    }
}
