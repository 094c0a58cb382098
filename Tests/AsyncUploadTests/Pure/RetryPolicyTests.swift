import Foundation
import Testing

@testable import AsyncUpload

@Suite("Whether and when there is another attempt")
struct RetryPolicyTests {
    private func failure(
        _ error: UploadError,
        _ method: String = "PUT",
        key: String? = nil,
        retryCount: Int = 0,
        elapsed: Duration = .zero
    ) -> RetryPolicy.Failure {
        var request = request("http://a.test/", method)
        request.setValue(key, forHTTPHeaderField: "Idempotency-Key")
        return RetryPolicy.Failure(error, of: request, retryCount: retryCount, elapsed: elapsed)
    }

    private func refusal(_ status: Int, _ fields: [String: String] = [:]) -> UploadError {
        let head = head(status, fields, from: "http://a.test/")
        return UploadError(.unacceptableStatus, response: UploadResponse(statusCode: status, headers: head.headers))
    }

    private let policy = RetryPolicy.exponential()

    // MARK: What may pass

    @Test(
        "Statuses that may pass are those of a server that has too much to do or has lost its way",
        arguments: [408, 425, 429, 500, 502, 503, 504]
    )
    func transientStatuses(status: Int) {
        #expect(policy.delay(after: failure(refusal(status)), random: 0.5) != nil)
    }

    @Test(
        "Any other status is final",
        arguments: [300, 304, 400, 401, 403, 404, 405, 409, 410, 412, 413, 415, 417, 422, 501, 505]
    )
    func finalStatuses(status: Int) {
        #expect(policy.delay(after: failure(refusal(status)), random: 0.5) == nil)
    }

    @Test("A body that is too large for now is tried again when the server says when")
    func tooLargeForNow() {
        #expect(policy.delay(after: failure(refusal(413, ["Retry-After": "3"])), random: 0.5) == .seconds(3))
    }

    @Test(
        "Of other failures those of the network may pass, and no other",
        arguments: UploadError.Code.Kind.allCases
    )
    func otherFailures(kind: UploadError.Code.Kind) {
        let transient: Set<UploadError.Code> = [
            .hostNotFound, .cannotConnect, .connectionLostBeforeBody, .connectionLostDuringBody,
            .connectionLostAfterBody, .timedOut, .stalled, .transferFailed,
        ]
        let code = UploadError.Code(kind: kind)
        let delay = policy.delay(after: failure(UploadError(code)), random: 0.5)
        #expect((delay != nil) == transient.contains(code), "\(code)")
    }

    @Test("The statuses can be chosen")
    func ownStatuses() {
        var policy = policy
        policy.statusCodes = [418]
        #expect(policy.delay(after: failure(refusal(418)), random: 0) != nil)
        #expect(policy.delay(after: failure(refusal(503)), random: 0) == nil)
    }

    // MARK: What may be sent twice

    @Test(
        "C65: a request that is not idempotent is sent twice only if it has a key, nothing of it was seen, or it is asked for",
        arguments: ["POST", "PATCH"]
    )
    func methods(method: String) {
        let errors = [refusal(503), UploadError(.connectionLostDuringBody), UploadError(.timedOut)]
        var all = policy
        all.retriesAllMethods = true
        for error in errors {
            #expect(policy.delay(after: failure(error, method), random: 0) == nil)
            #expect(policy.delay(after: failure(error, method, key: ""), random: 0) == nil)
            #expect(policy.delay(after: failure(error, method, key: "\"k\""), random: 0) != nil)
            #expect(all.delay(after: failure(error, method), random: 0) != nil)
            var unseen = error
            unseen.mayHaveReachedServer = false
            #expect(policy.delay(after: failure(unseen, method), random: 0) != nil)
        }
    }

    // MARK: How long

    @Test("The longest wait doubles each time, up to a limit; chance decides between none and that")
    func growth() {
        let policy = RetryPolicy.exponential(limit: 9, initialDelay: .seconds(1), maximumDelay: .seconds(20))
        let waits = (0..<9).map { count in
            [0, 0.5, 0.75].map { policy.delay(after: failure(refusal(503), retryCount: count), random: $0) }
        }
        let longest = [1, 2, 4, 8, 16, 20, 20, 20, 20]
        for (wait, longest) in zip(waits, longest) {
            #expect(wait == [.zero, .seconds(longest) * 0.5, .seconds(longest) * 0.75])
        }
    }

    @Test("Whatever the numbers are, a wait is neither negative nor longer than the limit")
    func absurdNumbers() {
        for initial in [Duration.seconds(-1), .zero, .seconds(1e12)] {
            for count in [-3, 0, 5, 5000] {
                for random in [-1, 0, 0.5, 1, 7, Double.nan] {
                    let policy = RetryPolicy.exponential(
                        limit: 10_000,
                        initialDelay: initial,
                        maximumDelay: .seconds(60)
                    )
                    let wait = policy.delay(after: failure(refusal(503), retryCount: count), random: random)
                    #expect(wait.map { $0 >= .zero && $0 <= .seconds(60) } ?? false, "\(initial) \(count) \(random)")
                }
            }
        }
    }

    @Test("After the last attempt that is allowed there is none", arguments: [0, 1, 3])
    func limit(limit: Int) {
        let policy = RetryPolicy.exponential(limit: limit)
        let attempts = (0..<6).map { policy.delay(after: failure(refusal(503), retryCount: $0), random: 0) != nil }
        #expect(attempts.count { $0 } == limit)
        #expect(RetryPolicy.none.delay(after: failure(refusal(503)), random: 0) == nil)
    }

    @Test("No attempt begins after the time for all of them")
    func timeLimit() {
        let policy = RetryPolicy.exponential(limit: 9, initialDelay: .seconds(10), timeLimit: .seconds(30))
        #expect(policy.delay(after: failure(refusal(503), elapsed: .seconds(25)), random: 0.5) == .seconds(5))
        #expect(policy.delay(after: failure(refusal(503), elapsed: .seconds(25)), random: 0.51) == nil)
        #expect(policy.delay(after: failure(refusal(503), elapsed: .seconds(31)), random: 0) == nil)
    }

    // MARK: What the server asks for

    @Test("C64: the wait that the server asks for is the least, and is capped")
    func retryAfter() {
        let policy = RetryPolicy.exponential(initialDelay: .seconds(1), maximumDelay: .seconds(60))
        func wait(_ text: String, _ random: Double = 0.5) -> Duration? {
            policy.delay(after: failure(refusal(429, ["Retry-After": text])), random: random)
        }
        #expect(wait("2") == .seconds(2))
        #expect(wait("0") == .milliseconds(500))
        #expect(wait("99999") == .seconds(60))
        #expect(wait("99999999999999999999999999") == .seconds(60))
        #expect(wait("-5") == .milliseconds(500))
        #expect(wait("soon") == .milliseconds(500))
        #expect(wait("") == .milliseconds(500))
        #expect(wait("1.5") == .milliseconds(500))
    }

    @Test(
        "C64: dates are read in all three forms of HTTP",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
            "Sun Nov 6 08:49:37 1994",
        ]
    )
    func dates(text: String) throws {
        let date = Date(timeIntervalSince1970: 784_111_777)
        #expect(HTTPDate.date(from: text, at: date) == date)
        let headers = head(429, ["Retry-After": text], from: "http://a.test/").headers
        #expect(RetryAfter.delay(in: headers, at: date - 90) == .seconds(90))
        #expect(RetryAfter.delay(in: headers, at: date + 90) == .zero)
        // By the server's own clock, if it tells what that says.
        let told = head(429, ["Retry-After": text, "Date": "Sun, 06 Nov 1994 08:49:30 GMT"], from: "http://a.test/")
            .headers
        #expect(RetryAfter.delay(in: told, at: date + 5000) == .seconds(7))
    }

    @Test("A year of two digits is at most 50 years ahead")
    func twoDigits() throws {
        let now = Date(timeIntervalSince1970: 1_767_225_600)  // 2026
        let near = try #require(HTTPDate.date(from: "Monday, 01-Jan-70 00:00:00 GMT", at: now))
        #expect(near > now)
        let past = try #require(HTTPDate.date(from: "Friday, 01-Jan-99 00:00:00 GMT", at: now))
        #expect(past < now)
    }

    @Test(
        "What is no date is none",
        arguments: ["", "tomorrow", "06 Nov 1994", "Sun, 06 Nov 1994 08:49:37", "1994-11-06T08:49:37Z"]
    )
    func noDates(text: String) {
        #expect(HTTPDate.date(from: text, at: Date()) == nil)
    }

    // MARK: Keys

    @Test("A key is made for requests that are not idempotent, once, and never in place of one that is there")
    func keys() throws {
        var post = request("http://a.test/", "POST")
        IdempotencyKey.automatic.apply(to: &post)
        let key = try #require(post.value(forHTTPHeaderField: "Idempotency-Key"))
        #expect(
            key.hasPrefix("\"") && key.hasSuffix("\"") && UUID(uuidString: String(key.dropFirst().dropLast())) != nil
        )
        #expect(post.isIdempotent)
        IdempotencyKey.automatic.apply(to: &post)
        #expect(post.value(forHTTPHeaderField: "Idempotency-Key") == key)
        var put = request("http://a.test/", "PUT")
        IdempotencyKey.automatic.apply(to: &put)
        var other = request("http://a.test/", "POST")
        IdempotencyKey.ofRequest.apply(to: &other)
        #expect(put.allHTTPHeaderFields?.isEmpty ?? true)
        #expect(other.allHTTPHeaderFields?.isEmpty ?? true)
    }
}
