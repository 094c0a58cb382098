import Foundation
import Testing

@testable import AsyncUpload

@Suite("What is refused before anything is sent", .timeLimit(.minutes(5)))
struct RequestValidationTests {
    @Test("A field in two spellings is refused: one of them would be sent, or both")
    func spellings() {
        var twice = request("http://host.test/")
        twice.allHTTPHeaderFields = ["Content-Type": "a/b", "content-type": "c/d"]
        guard twice.allHTTPHeaderFields?.count == 2 else { return }
        let error = #expect(throws: UploadError.self) { try RequestValidation.check(twice, bodyLength: 1) }
        #expect(error?.code == .invalidRequest)
    }

    private func expectRefused(
        _ request: URLRequest,
        bodyLength: Int64? = 3,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let error = #expect(throws: UploadError.self, sourceLocation: sourceLocation) {
            try RequestValidation.check(request, bodyLength: bodyLength)
        }
        #expect(error?.code == .invalidRequest, sourceLocation: sourceLocation)
        #expect(error?.detail?.isEmpty == false, sourceLocation: sourceLocation)
    }

    private func expectAccepted(_ request: URLRequest, bodyLength: Int64? = 3) {
        #expect(throws: Never.self) { try RequestValidation.check(request, bodyLength: bodyLength) }
    }

    @Test(
        "HTTP URLs are sent to",
        arguments: ["http://a.test", "https://a.test:8443/x?y=z", "HTTP://a.test/", "http://[::1]:80/"]
    )
    func goodURLs(address: String) {
        expectAccepted(request(address))
    }

    @Test(
        "Others are not",
        arguments: ["file:///tmp/x", "ftp://a.test/x", "ws://a.test/", "/x", "a.test", "http:///x", "data:,x"]
    )
    func badURLs(address: String) {
        expectRefused(request(address))
    }

    @Test("A request without a URL is not sent")
    func noURL() {
        var request = request("http://a.test/")
        request.url = nil
        expectRefused(request)
    }

    @Test(
        "A method is a token (RFC 9110 §9.1)",
        arguments: ["PUT", "POST", "PATCH", "DELETE", "PROPFIND", "M-SEARCH", "x!#$%&'*+.^_`|~9"]
    )
    func goodMethods(method: String) {
        expectAccepted(request("http://a.test/", method))
    }

    @Test("Anything else is not a method", arguments: ["PUT ", "P UT", "PUT\r\nX: y", "PÜT", "PUT/", "(PUT)", "\0"])
    func badMethods(method: String) {
        expectRefused(request("http://a.test/", method))
    }

    @Test("GET, HEAD and TRACE carry no body", arguments: ["GET", "HEAD", "TRACE"])
    func methodsWithoutBody(method: String) {
        expectRefused(request("http://a.test/", method))
        expectAccepted(request("http://a.test/", method), bodyLength: 0)
        expectRefused(request("http://a.test/", method), bodyLength: nil)
    }

    @Test("A request whose method nobody set is a GET")
    func noMethod() {
        expectRefused(URLRequest(url: url("http://a.test/")))
    }

    @Test("No line break and no NUL gets into a field", arguments: ["a\rb", "a\nb", "a\r\nX-Evil: 1", "\n", "a\0b"])
    func badValues(value: String) {
        expectRefused(request("http://a.test/", "PUT", ["X-One": value]))
    }

    @Test("Other values are the caller's business", arguments: ["", "a b\tc", "\"é\"", "a:b;c,d"])
    func goodValues(value: String) {
        expectAccepted(request("http://a.test/", "PUT", ["X-One": value]))
    }

    @Test("A field's name is a token", arguments: ["", "X One", "X:One", "X-Öne", "X\r\nY", "X\0", "(X)"])
    func badNames(name: String) {
        expectRefused(request("http://a.test/", "PUT", [name: "1"]))
    }

    @Test(
        "A Content-Length has to be the body's",
        arguments: ["4", "2", "", "x", "3, 3", "0x3", "99999999999999999999", "-3"]
    )
    func otherLength(value: String) {
        expectRefused(request("http://a.test/", "PUT", ["content-length": value]))
    }

    @Test("The body's own Content-Length may be there")
    func sameLength() {
        expectAccepted(request("http://a.test/", "PUT", ["Content-Length": "3"]))
        expectAccepted(request("http://a.test/", "PUT", ["Content-Length": "0"]), bodyLength: 0)
        expectRefused(request("http://a.test/", "PUT", ["Content-Length": "1"]), bodyLength: nil)
    }

    @Test("A length is written in digits only (RFC 9110 §8.6)")
    func signedLength() {
        expectRefused(request("http://a.test/", "PUT", ["Content-Length": "+3"]))
    }

    @Test(
        "The framing is not the caller's",
        arguments: ["Transfer-Encoding", "transfer-encoding"],
        ["chunked", "identity", " "]
    )
    func transferEncoding(name: String, value: String) {
        expectRefused(request("http://a.test/", "PUT", [name: value]))
    }
}
