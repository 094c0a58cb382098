import Foundation
import Testing

@testable import AsyncUpload

@Suite("What a redirect makes of a request", .timeLimit(.minutes(5)))
struct RedirectTests {
    enum Next: Sendable {
        case final, same, get
    }

    /// RFC 9110 §15.4, written out.
    private static let table: [Int: [String: Next]] = {
        let final = next(.final)
        let moved = next(.same).merging(["POST": .get]) { $1 }
        let other = next(.get).merging(["HEAD": .same]) { $1 }
        return [
            300: final, 301: moved, 302: moved, 303: other, 304: final, 305: final, 306: final, 307: next(.same),
            308: next(.same),
        ]
    }()

    private static let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]

    private static func next(_ next: Next) -> [String: Next] {
        Dictionary(uniqueKeysWithValues: methods.map { ($0, next) })
    }

    @Test("Status and method decide what follows", arguments: 300...308, methods)
    func table(status: Int, method: String) throws {
        let expected = try #require(Self.table[status]?[method])
        var chain = RequestChain(
            request("http://a.test/x", method, ["Content-Type": "text/plain", "Expect": "100-continue", "X-One": "1"]),
            carriesBody: true,
            rules: .init()
        )
        #expect(try chain.advance(after: head(status, ["Location": "/y"])) == (expected != .final))
        #expect(chain.request.url == url(expected == .final ? "http://a.test/x" : "http://a.test/y"))
        #expect(chain.request.httpMethod == (expected == .get ? "GET" : method))
        #expect(chain.carriesBody == (expected != .get))
        #expect(chain.request.value(forHTTPHeaderField: "X-One") == "1")
        #expect(chain.request.value(forHTTPHeaderField: "Content-Type") == (expected == .get ? nil : "text/plain"))
        #expect(chain.request.value(forHTTPHeaderField: "Expect") == (expected == .get ? nil : "100-continue"))
    }

    @Test("Other statuses end the chain", arguments: [200, 204, 299, 400, 403, 404, 407, 413, 500, 503])
    func others(status: Int) throws {
        var chain = RequestChain(request("http://a.test/x"), carriesBody: true, rules: .init())
        #expect(try chain.advance(after: head(status, ["Location": "/y", "WWW-Authenticate": "Basic"])) == false)
        #expect(chain.request == request("http://a.test/x"))
    }

    @Test("A GET made of an upload says nothing of the body it no longer has")
    func fieldsOfTheBody() throws {
        let fields = [
            "Content-Type": "a/b", "content-encoding": "gzip", "CONTENT-MD5": "x", "Content-Length": "3",
            "Content-Language": "en", "expect": "100-continue", "Accept": "*/*", "X-Content-Kind": "z",
        ]
        var chain = RequestChain(request("http://a.test/x", "POST", fields), carriesBody: true, rules: .init())
        #expect(try chain.advance(after: head(303, ["Location": "/y"])) == true)
        let left = Set((chain.request.allHTTPHeaderFields ?? [:]).keys.map { $0.lowercased() })
        #expect(left == ["accept", "x-content-kind"])
    }

    @Test("A body that is gone does not come back")
    func goneForGood() throws {
        var chain = RequestChain(request("http://a.test/x", "POST"), carriesBody: true, rules: .init())
        #expect(try chain.advance(after: head(303, ["Location": "/y"])) == true)
        #expect(try chain.advance(after: head(307, ["Location": "/z"])) == true)
        #expect(chain.request.httpMethod == "GET")
        #expect(!chain.carriesBody)
    }

    @Test("So many redirects are followed and no more", arguments: [0, 1, 3, 20])
    func limit(limit: Int) throws {
        var chain = RequestChain(
            request("http://a.test/0"),
            carriesBody: true,
            rules: .init(redirects: .follow(limit: limit))
        )
        for number in 0..<limit {
            #expect(try chain.advance(after: head(307, ["Location": "/\(number + 1)"])) == true)
        }
        let error = #expect(throws: UploadError.self) { try chain.advance(after: head(307, ["Location": "/z"])) }
        #expect(error?.code == .tooManyRedirects)
    }

    @Test("A limit below zero is zero")
    func negativeLimit() {
        #expect(RedirectPolicy.follow(limit: -1) == .follow(limit: 0))
        #expect(RedirectPolicy.follow() == .follow(limit: 20))
    }

    @Test("Where redirects are refused, one is a final answer")
    func refuse() throws {
        var chain = RequestChain(request("http://a.test/x"), carriesBody: true, rules: .init(redirects: .refuse))
        #expect(try chain.advance(after: head(307, ["Location": "file:///etc/passwd"])) == false)
        #expect(chain.request.url == url("http://a.test/x"))
    }

    @Test("A redirect to nowhere is a final answer", arguments: [[:], ["Location": ""]])
    func nowhere(fields: [String: String]) throws {
        var chain = RequestChain(request("http://a.test/x"), carriesBody: true, rules: .init())
        #expect(try chain.advance(after: head(302, fields)) == false)
    }

    @Test(
        "A location is resolved against the request's own",
        arguments: [
            ("/c", "http://a.test:8080/c"), ("c", "http://a.test:8080/a/c"), ("../c?d=e", "http://a.test:8080/c?d=e"),
            ("?q", "http://a.test:8080/a/b?q"), ("//b.test/c", "http://b.test/c"),
            ("http://b.test:81/c", "http://b.test:81/c"), ("HTTPS://b.test/c", "https://b.test/c"),
            ("https://a.test:8080/c", "https://a.test:8080/c"),
        ]
    )
    func locations(location: String, expected: String) throws {
        var chain = RequestChain(request("http://a.test:8080/a/b?x=y"), carriesBody: true, rules: .init())
        #expect(try chain.advance(after: head(308, ["Location": location])) == true)
        let target = try #require(chain.request.url)
        #expect(target.absoluteString.replacing("HTTPS:", with: "https:") == expected)
        #expect(target.baseURL == nil)
    }

    @Test(
        "What is no HTTP URL is refused",
        arguments: [
            "file:///etc/passwd", "ftp://a.test/", "ht!tp://[x", "http://[x", "javascript:1", "http://", "http:///x",
            "data:,x", "mailto:a@b.test",
        ]
    )
    func refused(location: String) throws {
        var chain = RequestChain(request("http://a.test/x"), carriesBody: true, rules: .init())
        let error = #expect(throws: UploadError.self) { try chain.advance(after: head(307, ["Location": location])) }
        #expect(error?.code == .redirectRefused)
        #expect(chain.request.url == url("http://a.test/x"))
    }

    @Test(
        "From https there is no way back to http",
        arguments: ["http://a.test/", "http://b.test/", "http://a.test:443/"]
    )
    func downgrade(location: String) throws {
        var chain = RequestChain(request("https://a.test/x"), carriesBody: true, rules: .init())
        let error = #expect(throws: UploadError.self) { try chain.advance(after: head(307, ["Location": location])) }
        #expect(error?.code == .redirectRefused)
        #expect(error?.detail?.contains("not secure") == true)
        #expect(try chain.advance(after: head(307, ["Location": "https://b.test/"])) == true)
    }
}
