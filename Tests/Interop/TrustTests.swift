import AsyncUpload
import Foundation
import Testing

extension Interop {
    /// Which servers are trusted.
    @Suite struct Trust {
        let server: NginxServer

        init() async throws {
            server = try await NginxServer()
        }

        private func expectSuccess(
            _ uploader: Uploader,
            _ request: URLRequest,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            let bytes = try randomBytes(100_000)
            _ = try await uploader.response(for: request, from: bytes)
            let stored = try server.stored(request.url?.path ?? "")
            #expect(stored == bytes, sourceLocation: sourceLocation)
        }

        @Test("The expired certificate has expired")
        func expiry() async throws {
            let openssl = try #require(Program("openssl"))
            for (name, status) in [(Certificates.Name.server, Int32(0)), (.expired, 1)] {
                let arguments = ["x509", "-checkend", "0", "-noout", "-in", server.file(name).path]
                let result = try await openssl.run(arguments, in: TemporaryFolder())
                #expect(result.status == status, "\(result.output)")
            }
        }

        @Test(
            "A server whose authority is given is trusted",
            arguments: [NginxServer.Port.http1, .http2],
            ["127.0.0.1", "localhost"]
        )
        func knownAuthority(port: NginxServer.Port, host: String) async throws {
            let fromFile = server.uploader { $0.tls.certificateAuthorities = .file(server.file(.authority)) }
            try await expectSuccess(fromFile, server.request(port, "/file", host: host))
            let fromData = server.uploader { $0.tls.certificateAuthorities = .data(server.certificates[.authority]) }
            try await expectSuccess(fromData, server.request(port, "/data", host: host))
        }

        @Test(
            "C86: one whose authority is unknown is not, and is not tried again",
            arguments: [NginxServer.Port.http1, .http2]
        )
        func unknownAuthority(port: NginxServer.Port) async throws {
            let request = server.request(port, "/a")
            let configurations: [Uploader.TLSOptions.PEM?] = [
                nil, .data(server.certificates[.stranger]), .file(server.file(.stranger)),
            ]
            for authorities in configurations {
                let uploader = server.uploader { $0.tls.certificateAuthorities = authorities }
                let error = try await server.refusal(by: uploader, of: request)
                #expect(error.code == .certificateUntrusted)
                #expect(!error.mayHaveReachedServer)
            }
        }

        @Test("C86: one whose certificate has expired is not")
        func expired() async throws {
            let error = try await server.refusal(by: server.uploader(), of: server.request(.expired, "/a"))
            #expect(error.code == .certificateUntrusted)
            #expect(error.detail?.contains("expired") == true)
        }

        @Test("C86: one whose certificate is for another host is not", arguments: ["127.0.0.1", "localhost"])
        func otherHost(host: String) async throws {
            let request = server.request(.otherHost, "/a", host: host)
            let error = try await server.refusal(by: server.uploader(), of: request)
            #expect(error.code == .certificateHostMismatch)
        }

        @Test(
            "Every server is trusted on demand",
            arguments: [NginxServer.Port.http1, .http2, .expired, .otherHost],
            [Certificates.Name.authority, .stranger, nil]
        )
        func anyServer(port: NginxServer.Port, authorities: Certificates.Name?) async throws {
            let uploader = server.uploader {
                $0.tls.certificateAuthorities = authorities.map { .data(server.certificates[$0]) }
                $0.tls.trustsAnyServer = true
            }
            try await expectSuccess(uploader, server.request(port, "/a"))
        }

        @Test("An authority that cannot be read is an error of the options")
        func unreadableAuthority() async throws {
            let garbage = Data("-----BEGIN CERTIFICATE-----\nnot one\n-----END CERTIFICATE-----\n".utf8)
            let configurations: [Uploader.TLSOptions.PEM] = [
                .file(server.folder.file("missing.pem")), .file(try server.folder.write("garbage.pem", garbage)),
                .data(garbage), .data(Data()),
            ]
            for authorities in configurations {
                let uploader = server.uploader { $0.tls.certificateAuthorities = authorities }
                let error = try await server.refusal(by: uploader, of: server.request(.http2, "/a"))
                #expect(error.code == .invalidTLSOptions, "\(authorities)")
            }
        }

        @Test("URLSession sends nothing when it cannot do what is asked for")
        func urlSession() async throws {
            let uploader = Uploader {
                $0.transport = .urlSession
                $0.tls.trustsAnyServer = true
            }
            let error = try await server.refusal(by: uploader, of: server.request(.http2, "/a"), connections: 0)
            #expect(error.code == .optionNotSupported)
        }
    }
}
