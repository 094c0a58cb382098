import AsyncUpload
import Foundation
import Testing

extension Interop {
    /// A server that wants to know who the client is.
    @Suite struct ClientCertificates {
        let server: NginxServer

        init() async throws {
            server = try await NginxServer()
        }

        private var request: URLRequest { server.request(.clientCertificate, "/a") }

        private func expectSuccess(
            _ configure: (inout Uploader.TLSOptions) -> Void,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            let bytes = try randomBytes(100_000)
            _ = try await server.uploader { configure(&$0.tls) }.response(for: request, from: bytes)
            let stored = try server.stored("/a")
            #expect(stored == bytes, sourceLocation: sourceLocation)
        }

        private func refusal(
            sourceLocation: SourceLocation = #_sourceLocation,
            _ configure: (inout Uploader.TLSOptions) -> Void
        ) async throws -> UploadError {
            let uploader = server.uploader { configure(&$0.tls) }
            return try await server.refusal(by: uploader, of: request, sourceLocation: sourceLocation)
        }

        @Test("It is refused without a certificate")
        func missing() async throws {
            let error = try await refusal { _ in }
            #expect(error.code == .unacceptableStatus)
            #expect(error.response?.statusCode == 400)
            #expect(error.response?.text().contains("No required SSL certificate was sent") == true)
        }

        @Test("It is refused with one of an authority that the server does not know")
        func stranger() async throws {
            let error = try await refusal {
                $0.clientCertificate = .data(server.certificates[.stranger])
                $0.privateKey = .data(server.certificates[.strangerKey])
            }
            #expect(error.code == .unacceptableStatus)
            #expect(error.response?.statusCode == 400)
            #expect(error.response?.text().contains("The SSL certificate error") == true)
        }

        @Test("It is let in with a certificate and a key")
        func known() async throws {
            let (certificate, key) = (server.certificates[.client], server.certificates[.clientKey])
            try await expectSuccess {
                $0.clientCertificate = .file(server.file(.client))
                $0.privateKey = .file(server.file(.clientKey))
            }
            try await expectSuccess {
                $0.clientCertificate = .data(certificate)
                $0.privateKey = .data(key)
            }
            try await expectSuccess {
                $0.clientCertificate = .file(server.file(.client))
                $0.privateKey = .data(key)
            }
            let both = try server.folder.write("both.pem", certificate + key)
            try await expectSuccess { $0.clientCertificate = .file(both) }
            try await expectSuccess { $0.clientCertificate = .data(certificate + key) }
        }

        @Test("It is let in with an encrypted key and its password")
        func encryptedKey() async throws {
            try await expectSuccess {
                $0.clientCertificate = .file(server.file(.client))
                $0.privateKey = .file(server.file(.encryptedClientKey))
                $0.privateKeyPassword = Certificates.password
            }
            try await expectSuccess {
                $0.clientCertificate = .data(server.certificates[.client])
                $0.privateKey = .data(server.certificates[.encryptedClientKey])
                $0.privateKeyPassword = Certificates.password
            }
        }

        @Test("A wrong password is an error of the options", arguments: ["wrong", ""])
        func wrongPassword(password: String) async throws {
            let fromFile = try await refusal {
                $0.clientCertificate = .file(server.file(.client))
                $0.privateKey = .file(server.file(.encryptedClientKey))
                $0.privateKeyPassword = password
            }
            #expect(fromFile.code == .invalidTLSOptions)
            let fromData = try await refusal {
                $0.clientCertificate = .data(server.certificates[.client])
                $0.privateKey = .data(server.certificates[.encryptedClientKey])
                $0.privateKeyPassword = password
            }
            #expect(fromData.code == .invalidTLSOptions)
        }

        /// OpenSSL asks at the terminal if it is left to itself, which must not happen in a library.
        @Test("A password that is missing is an error of the options, too")
        func noPassword() async {
            await #expect(processExitsWith: .success) {
                let server = try await NginxServer()
                for isFile in [true, false] {
                    let uploader = server.uploader {
                        $0.tls.clientCertificate = .data(server.certificates[.client])
                        $0.tls.privateKey =
                            isFile
                            ? .file(server.file(.encryptedClientKey)) : .data(server.certificates[.encryptedClientKey])
                    }
                    let error = try await server.refusal(by: uploader, of: server.request(.clientCertificate, "/a"))
                    #expect(error.code == .invalidTLSOptions)
                }
            }
        }

        @Test("A certificate or key that cannot be read is an error of the options")
        func unreadable() async throws {
            let garbage = Data("not a certificate".utf8)
            let missing = server.folder.file("missing.pem")
            let (certificate, key) = (server.certificates[.client], server.certificates[.clientKey])
            let pairs: [(Uploader.TLSOptions.PEM, Uploader.TLSOptions.PEM?)] = [
                (.file(missing), .data(key)), (.data(garbage), .data(key)),
                (.data(certificate), .file(missing)), (.data(certificate), .data(garbage)),
                // Without its key, and with another one.
                (.data(certificate), nil), (.data(certificate), .data(server.certificates[.serverKey])),
            ]
            for (certificate, key) in pairs {
                let error = try await refusal {
                    $0.clientCertificate = certificate
                    $0.privateKey = key
                }
                #expect(error.code == .invalidTLSOptions, "\(certificate), \(String(describing: key))")
            }
        }
    }
}
