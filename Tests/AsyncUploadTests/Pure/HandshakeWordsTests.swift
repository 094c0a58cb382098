import Foundation
import Testing

@testable import AsyncUpload

@Suite("What the words for a failure of TLS mean", .timeLimit(.minutes(5)))
struct HandshakeWordsTests {
    private static let endings = [
        "OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to a.test:443 ",
        "OpenSSL SSL_connect: Connection reset by peer in connection to a.test:443 ",
        "OpenSSL/3.0.19: error:0A000126:SSL routines::unexpected eof while reading",
        "TLS connect error: error:0A000126:SSL routines::unexpected eof while reading",
        "gnutls_handshake() failed: The TLS connection was non-properly terminated.",
        "gnutls_handshake() failed: Error in the pull function.",
    ]

    private static let faults = [
        "OpenSSL/3.0.19: error:0A00010B:SSL routines::wrong version number",
        "OpenSSL/3.0.19: error:0A000410:SSL routines::sslv3 alert handshake failure",
        "TLS connect error: error:0A0000C1:SSL routines::no shared cipher",
        "OpenSSL SSL_connect: SSL_ERROR_ZERO_RETURN in connection to a.test:443 ",
        "gnutls_handshake() failed: An unexpected TLS packet was received.",
    ]

    private static func fromURLSession(_ words: String) -> UploadError {
        let error = URLError(.unknown, userInfo: [NSLocalizedDescriptionKey: words])
        return URLErrorTranslation.uploadError(from: error, isSecure: true)
    }

    @Test("A connection that ended is none", arguments: endings)
    func cutOff(words: String) {
        #expect(CurlErrorTranslation.uploadError(code: 35, reason: words).code == .cannotConnect)
        #expect(Self.fromURLSession(words).code == .cannotConnect)
    }

    @Test("Whatever else was wrong is a fault of TLS", arguments: faults)
    func fault(words: String) {
        #expect(CurlErrorTranslation.uploadError(code: 35, reason: words).code == .secureConnectionFailed)
        #expect(Self.fromURLSession(words).code == .secureConnectionFailed)
    }

    @Test("A reset without more is told by libcurl's code alone")
    func reset() {
        let words = "Recv failure: Connection reset by peer"
        #expect(CurlErrorTranslation.uploadError(code: 35, reason: words).code == .cannotConnect)
        #expect(CurlErrorTranslation.uploadError(code: 56, reason: words).code.isConnectionLoss)
        #expect(Self.fromURLSession(words).code.isConnectionLoss)
    }

    @Test(
        "What came after TLS was set up is a lost connection, unless the server says otherwise",
        arguments: [
            ("OpenSSL SSL_read: OpenSSL/3.0.19: error:0A000126:SSL routines::unexpected eof while reading", true),
            ("OpenSSL SSL_read: SSL_ERROR_SYSCALL, errno 104", true),
            ("OpenSSL SSL_write: Broken pipe, errno 32", true),
            ("GnuTLS recv error (-110): The TLS connection was non-properly terminated.", true),
            ("OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0", false),
        ]
    )
    func afterHandshake(words: String, isLoss: Bool) {
        for error in [CurlErrorTranslation.uploadError(code: 56, reason: words), Self.fromURLSession(words)] {
            #expect(error.code.isConnectionLoss == isLoss)
            #expect(isLoss || error.code == .secureConnectionFailed)
        }
        let error = URLError(.unknown, userInfo: [NSLocalizedDescriptionKey: words])
        #expect(URLErrorTranslation.followsHandshake(error))
    }
}
