import Foundation
import Testing

@testable import AsyncUpload

@Suite("How a challenge and a refused expectation are answered", .timeLimit(.minutes(5)))
struct ChallengeTests {
    private func chain(_ credential: URLCredential?, _ fields: [String: String] = [:]) -> RequestChain {
        RequestChain(
            request("http://a.test/x", "PUT", fields),
            carriesBody: true,
            rules: .init(credential: credential, credentialFields: ["Authorization"])
        )
    }

    private let credential = URLCredential(user: "Aladdin", password: "open sesame", persistence: .none)
    private let basic = head(401, ["WWW-Authenticate": "Basic realm=\"r\""])

    @Test("The credential goes along, with the body (RFC 7617 §2)")
    func answered() throws {
        var chain = chain(credential)
        #expect(try chain.advance(after: basic) == true)
        #expect(chain.request.value(forHTTPHeaderField: "Authorization") == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        #expect(chain.carriesBody)
        #expect(chain.request.httpMethod == "PUT")
    }

    @Test("Once only")
    func once() throws {
        var chain = chain(credential)
        #expect(try chain.advance(after: basic) == true)
        #expect(try chain.advance(after: basic) == false)
    }

    @Test("Without a credential the 401 is the answer")
    func noCredential() throws {
        var chain = chain(nil)
        #expect(try chain.advance(after: basic) == false)
        #expect(chain.request.value(forHTTPHeaderField: "Authorization") == nil)
    }

    @Test("A 401 without a challenge is the answer, and so is a 407")
    func noChallenge() throws {
        var chain = chain(credential)
        #expect(try chain.advance(after: head(401)) == false)
        #expect(try chain.advance(after: head(407, ["Proxy-Authenticate": "Basic realm=\"r\""])) == false)
    }

    @Test("The credential takes the place of an Authorization that was refused")
    func replaced() throws {
        var chain = chain(credential, ["authorization": "Bearer old"])
        #expect(try chain.advance(after: basic) == true)
        let values = (chain.request.allHTTPHeaderFields ?? [:]).values
        #expect(values.sorted() == ["Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="])
    }

    @Test("Only the first origin gets it", arguments: ["http://b.test/", "http://a.test:81/", "https://a.test/"])
    func otherOrigin(location: String) throws {
        var chain = chain(credential)
        #expect(try chain.advance(after: head(307, ["Location": location])) == true)
        #expect(try chain.advance(after: basic) == false)
        #expect(chain.request.value(forHTTPHeaderField: "Authorization") == nil)
    }

    @Test("A redirect within the first origin does not matter")
    func sameOrigin() throws {
        var chain = chain(credential)
        #expect(try chain.advance(after: head(307, ["Location": "/other"])) == true)
        #expect(try chain.advance(after: basic) == true)
        #expect(chain.request.value(forHTTPHeaderField: "Authorization") != nil)
    }

    @Test(
        "Basic is found among the challenges, and only where it is one",
        arguments: [
            ("Basic", true), ("Basic realm=\"r\"", true), ("basic realm=\"r\"", true), ("BASIC realm=x", true),
            ("Digest realm=\"a, b\", nonce=\"n\", Basic realm=\"r\"", true), ("Bearer,Basic", true),
            ("Negotiate, Basic realm=\"a\\\"b, c\", charset=\"UTF-8\"", true),
            ("Digest realm=\"r\", nonce=\"n\"", false), ("Digest realm=\"x, Basic realm=y\"", false),
            ("Digest realm=\"a\\\", Basic b\", nonce=\"n\"", false),
            ("Digest realm=\"a\\\\\", Basic realm=\"r\"", true),
            ("Bearer realm=\"basic\"", false), ("Basics realm=\"r\"", false), ("Digest basic=1", false), ("", false),
        ]
    )
    func challenges(field: String, isOffered: Bool) throws {
        #expect(BasicAuthentication.isOffered(by: field) == isOffered)
        var chain = chain(credential)
        #expect(try chain.advance(after: head(401, ["WWW-Authenticate": field])) == isOffered)
    }

    @Test("User and password are sent as UTF-8")
    func unicode() {
        #expect(BasicAuthentication.authorization(user: "test", password: "123£") == "Basic dGVzdDoxMjPCow==")
    }

    @Test("A refused expectation is withdrawn, once, and only if there was one (RFC 9110 §15.5.18)")
    func expectation() throws {
        var chain = chain(nil, ["expect": "100-continue", "X-One": "1"])
        #expect(try chain.advance(after: head(417)) == true)
        #expect(chain.request.value(forHTTPHeaderField: "Expect") == nil)
        #expect(chain.request.value(forHTTPHeaderField: "X-One") == "1")
        #expect(chain.carriesBody)
        #expect(try chain.advance(after: head(417)) == false)
    }
}
