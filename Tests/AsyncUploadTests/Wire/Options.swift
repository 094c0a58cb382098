import Foundation
import LoopbackServer
import Testing

@testable import AsyncUpload

extension OverTheWire {
    @Suite("What only libcurl can do", .enabled(if: Platform.usesFoundationNetworking)) struct OptionsOfLibcurl {
        @Test("A limit for the rate is kept by each upload", arguments: BodyKind.allCases)
        func limitRate(kind: BodyKind) async throws {
            let lane = try Lane(.automatic) { $0.limitRate = 1_000_000 }
            lane.server.route(nil, "/*", LoopbackServer.sink)
            let start = ContinuousClock.now
            #expect(try await lane.upload(bytes(600_000), as: kind, to: "/x").response != nil)
            // The first tenth of a second's worth goes out at once.
            #expect(ContinuousClock.now - start >= .milliseconds(350))
        }

        @Test("A proxy gets the request with the whole URL, and its own password")
        func proxy() async throws {
            let proxy = try LoopbackServer()
            proxy.route(nil, "/*", LoopbackServer.accept(keeping: true))
            let address = proxy.url("").absoluteString.replacingOccurrences(of: "//", with: "//user:p%40ss@")
            let uploader = Uploader { $0.proxy = .proxy(url(address)) }
            _ = try await uploader.response(for: request("http://host.invalid/x"), from: bytes(10))
            let received = try #require(proxy.requests.first)
            #expect(received.target == "http://host.invalid/x")
            #expect(received.header("Proxy-Authorization") == "Basic " + Data("user:p@ss".utf8).base64EncodedString())
            #expect(received.body == bytes(10))
        }

        @Test("A proxy that refuses to connect, or is not there, is no connection")
        func proxyRefuses() async throws {
            let proxy = try LoopbackServer()
            proxy.route(nil, "*") { try $0.respond(403) }
            let uploader = Uploader { $0.proxy = .proxy(proxy.url("")) }
            let refused = await Observation(uploader.upload(for: request("https://host.invalid/x"), from: bytes(10)))
            #expect(refused.code == .cannotConnect)
            proxy.stop()
            let gone = await Observation(uploader.upload(for: request("http://host.invalid/x"), from: bytes(10)))
            #expect(gone.code == .cannotConnect)
        }

        @Test("A proxy that cannot be used is not named with its password", arguments: ["ftp", "x"])
        func unsupportedProxy(scheme: String) async {
            let uploader = Uploader { $0.proxy = .proxy(url("\(scheme)://user:secret@127.0.0.1:1")) }
            let seen = await Observation(uploader.upload(for: request("http://host.invalid/x"), from: bytes(10)))
            #expect(seen.code == .optionNotSupported)
            #expect(seen.error.map { !"\($0)\(($0 as NSError))".contains("secret") } == true)
        }

        @Test("A key without a certificate, and files that are none, are refused")
        func uselessIdentity() async {
            for configure: (inout Uploader.Configuration) -> Void in [
                { $0.tls.privateKey = .data(Data()) },
                { $0.tls.certificateAuthorities = .file(url("https://a.test/ca")) },
            ] {
                let uploader = Uploader { configure(&$0) }
                let seen = await Observation(uploader.upload(for: request("https://host.invalid/"), from: bytes(10)))
                #expect(seen.code == .invalidTLSOptions)
            }
        }

        @Test("The environment names the proxy, unless there is to be none")
        func environment() async {
            await #expect(processExitsWith: .success) {
                setenv("http_proxy", "http://127.0.0.1:1", 1)
                unsetenv("no_proxy")
                unsetenv("NO_PROXY")
                let server = try LoopbackServer()
                server.route(nil, "/*", LoopbackServer.sink)
                let request = URLRequest(url: server.url("/x"), method: "PUT")
                let system = await Observation(Uploader().upload(for: request, from: bytes(10)))
                #expect(system.code == .cannotConnect)
                let direct = await Observation(Uploader { $0.proxy = .direct }.upload(for: request, from: bytes(10)))
                #expect(direct.response != nil)
            }
        }

        @Test("What URLSession cannot do is refused there, before anything is sent")
        func urlSession() async throws {
            let server = try LoopbackServer()
            for configure: (inout Uploader.Configuration) -> Void in [
                { $0.limitRate = 1000 }, { $0.proxy = .direct }, { $0.tls.trustsAnyServer = true },
                { $0.tls.pinnedPublicKeys = ["x"] },
            ] {
                let uploader = Uploader {
                    configure(&$0)
                    $0.transport = .urlSession
                }
                let seen = await Observation(
                    uploader.upload(for: URLRequest(url: server.url("/x"), method: "PUT"), from: bytes(10))
                )
                #expect(seen.code == .optionNotSupported)
            }
            #expect(server.connectionCount == 0)
        }
    }
}
