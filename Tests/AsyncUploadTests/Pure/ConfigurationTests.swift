import Foundation
import Testing

@testable import AsyncUpload

@Suite("A configuration as it is seen in logs", .timeLimit(.minutes(5)))
struct ConfigurationTests {
    @Test("Its secrets are in no dump and no description")
    func secrets() {
        var configuration = Uploader.Configuration()
        configuration.tls.privateKey = .data(Data("secret".utf8))
        configuration.tls.clientCertificate = .file(url("file:///certificate.pem"))
        configuration.tls.privateKeyPassword = "secret"
        configuration.proxy = .proxy(url("http://user:secret@proxy.test:3128"))
        configuration.credential = URLCredential(user: "user", password: "secret", persistence: .none)
        var dumped = ""
        dump(configuration, to: &dumped)
        for text in [dumped, "\(configuration)", "\(configuration.tls)", String(reflecting: configuration.proxy)] {
            #expect(!text.contains("secret"), "\(text)")
            #expect(!text.contains(Array("secret".utf8).map(String.init).joined(separator: ", ")), "\(text)")
        }
        #expect(dumped.contains("certificate.pem"))
        #expect(dumped.contains("proxy.test:3128"))
    }
}
