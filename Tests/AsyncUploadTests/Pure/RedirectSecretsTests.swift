import Foundation
import Testing

@testable import AsyncUpload

@Suite("What does not go along to another origin", .timeLimit(.minutes(5)))
struct RedirectSecretsTests {
    private let rules = Uploader.Configuration().chainRules

    private func advanced(
        to location: String,
        from address: String = "http://a.test/x",
        _ fields: [String: String]
    ) throws -> URLRequest {
        var chain = RequestChain(request(address, "PUT", fields), carriesBody: true, rules: rules)
        #expect(try chain.advance(after: head(307, ["Location": location])) == true)
        return chain.request
    }

    private static let secrets = [
        "Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "X-Auth-Token", "X-Amz-Security-Token", "Host",
    ]

    @Test("Secrets stay behind, in whatever letter case they were set", arguments: secrets, 0..<3)
    func dropped(name: String, letterCase: Int) throws {
        let spelt = [name, name.lowercased(), name.uppercased()][letterCase]
        let next = try advanced(to: "http://b.test/x", [spelt: "secret", "X-One": "1"])
        #expect(next.value(forHTTPHeaderField: name) == nil)
        #expect((next.allHTTPHeaderFields ?? [:]).values.sorted() == ["1"])
    }

    @Test("A secret that was set twice in two letter cases stays behind twice")
    func twice() throws {
        let next = try advanced(
            to: "http://b.test/x",
            ["x-api-key": "one", "X-Api-Key": "two", "X-API-KEY": "three"]
        )
        #expect(next.allHTTPHeaderFields ?? [:] == [:])
    }

    @Test(
        "Scheme, host and port make the origin",
        arguments: [
            ("http://a.test/y", true), ("/y", true), ("http://A.TEST/y", true), ("http://a.test:80/y", true),
            ("http://a.test:81/y", false), ("http://b.test/y", false), ("https://a.test/y", false),
            ("//b.test/y", false), ("http://a.test.b.test/y", false),
        ]
    )
    func origins(location: String, isSame: Bool) throws {
        let fields = Dictionary(uniqueKeysWithValues: Self.secrets.map { ($0, "secret") })
        let next = try advanced(to: location, fields)
        for name in Self.secrets {
            #expect(next.value(forHTTPHeaderField: name) == (isSame ? "secret" : nil), "\(name)")
        }
    }

    @Test("The default port of https is its origin, too")
    func securePort() throws {
        let next = try advanced(to: "https://a.test:443/y", from: "https://a.test/x", ["Cookie": "c"])
        #expect(next.value(forHTTPHeaderField: "Cookie") == "c")
    }

    @Test("What was left behind does not come back with the origin")
    func thereAndBack() throws {
        var chain = RequestChain(request("http://a.test/x", "PUT", ["Cookie": "c"]), carriesBody: true, rules: rules)
        #expect(try chain.advance(after: head(307, ["Location": "http://b.test/"])) == true)
        #expect(try chain.advance(after: head(307, ["Location": "http://a.test/"])) == true)
        #expect(chain.request.value(forHTTPHeaderField: "Cookie") == nil)
    }

    @Test("The answer to a challenge stays behind, whatever fields count as secret")
    func answerToChallenge() throws {
        var chain = RequestChain(
            request("http://a.test/x"),
            carriesBody: true,
            rules: .init(credential: .init(user: "u", password: "p", persistence: .none), credentialFields: ["X-Mine"])
        )
        #expect(try chain.advance(after: head(401, ["WWW-Authenticate": "Basic realm=\"r\""])) == true)
        #expect(try chain.advance(after: head(307, ["Location": "http://b.test/"])) == true)
        #expect(chain.request.value(forHTTPHeaderField: "Authorization") == nil)
    }

    @Test(
        "Only an HTTP URL with a host has an origin",
        arguments: ["file:///x", "ftp://a.test/", "http:///x", "/x", "mailto:a"]
    )
    func noOrigin(address: String) {
        #expect(Origin(URL(string: address)) == nil)
        #expect(Origin(nil) == nil)
    }
}
