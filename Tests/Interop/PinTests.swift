import AsyncUpload
import Foundation
import Testing

extension Interop {
    /// Public keys that the server's must be one of.
    @Suite struct Pins {
        let server: NginxServer

        /// A hash like any other, of no key.
        private let wrongPin = Data(repeating: 7, count: 32).base64EncodedString()

        init() async throws {
            server = try await NginxServer()
        }

        private func uploader(_ pins: Set<String>, trustsAnyServer: Bool = false) -> Uploader {
            server.uploader {
                $0.tls.pinnedPublicKeys = pins
                $0.tls.trustsAnyServer = trustsAnyServer
            }
        }

        @Test("A key that is among them is trusted", arguments: [NginxServer.Port.http1, .http2], [false, true])
        func right(port: NginxServer.Port, trustsAnyServer: Bool) async throws {
            let pin = server.certificates.pin
            for (number, pins) in ([[pin], [pin, wrongPin]] as [Set]).enumerated() {
                let path = "/\(number)"
                let uploader = uploader(pins, trustsAnyServer: trustsAnyServer)
                _ = try await uploader.response(for: server.request(port, path), from: Data("pinned".utf8))
                #expect(try server.stored(path) == Data("pinned".utf8))
            }
        }

        @Test("Another key is not", arguments: [NginxServer.Port.http1, .http2], [false, true])
        func wrong(port: NginxServer.Port, trustsAnyServer: Bool) async throws {
            let uploader = uploader([wrongPin], trustsAnyServer: trustsAnyServer)
            let error = try await server.refusal(by: uploader, of: server.request(port, "/a"))
            #expect(error.code == .certificateUntrusted)
        }

        @Test("The right key does not make up for an unknown authority")
        func unknownAuthority() async throws {
            let uploader = server.uploader {
                $0.tls.pinnedPublicKeys = [server.certificates.pin]
                $0.tls.certificateAuthorities = .data(server.certificates[.stranger])
            }
            let error = try await server.refusal(by: uploader, of: server.request(.http2, "/a"))
            #expect(error.code == .certificateUntrusted)
        }

        @Test("What is no hash is an error of the options", arguments: ["", "abc", "sha256//", "/etc/hostname"])
        func malformed(pin: String) async throws {
            for pins in [[pin], [pin, server.certificates.pin]] as [Set] {
                let uploader = uploader(pins)
                let error = try await server.refusal(by: uploader, of: server.request(.http2, "/a"), connections: 0)
                #expect(error.code == .invalidTLSOptions)
            }
        }
    }
}
