import Foundation

/// The requests of one upload, one after the other: the caller's own, then what redirects, a challenge and a
/// refused expectation make of it.
///
/// Pure: a response goes in, and the next request is there or the response was the last one.
struct RequestChain {
    /// Which origin the secrets are meant for.
    enum Home {
        /// The request's.
        case ownOrigin
        /// That one, which the request may not be addressed to: it is left to go there without them.
        case origin(Origin?)
        /// That one, but for what the request has brought itself.
        case originOfOthers(Origin?)
    }

    struct Rules {
        var redirects: RedirectPolicy = .follow()
        var credential: URLCredential?
        var credentialFields: Set<String> = []
    }

    /// The request to send.
    private(set) var request: URLRequest
    /// Whether the body goes with it.
    private(set) var carriesBody: Bool
    private let rules: Rules
    private let firstOrigin: Origin?
    /// Where the last request went, if that was somewhere else.
    private var ownURL: URL?
    private var redirectCount = 0
    /// Whether the credential is sent.
    private(set) var hasAnsweredChallenge = false
    /// Whether `Authorization` is not the caller's own field but made of a password that was entrusted to us.
    private var hasMadeAuthorization = false

    /// - Parameters:
    ///   - home: which origin the secrets are meant for.
    ///   - isChallenged: whether the credential goes with the first request, since the server has asked for it before.
    init(
        _ request: URLRequest,
        carriesBody: Bool,
        rules: Rules,
        home: Home = .ownOrigin,
        isChallenged: Bool = false
    ) {
        self.request = request
        self.carriesBody = carriesBody
        self.rules = rules
        let origin = Origin(request.url)
        var keepsOwnFields = false
        switch home {
        case .ownOrigin: firstOrigin = origin
        case .origin(let origin): firstOrigin = origin
        case .originOfOthers(let origin): (firstOrigin, keepsOwnFields) = (origin, true)
        }
        guard origin == firstOrigin || keepsOwnFields else {
            dropSecrets()
            return
        }
        moveUserInformation()
        if isChallenged, origin == firstOrigin { useCredential() }
    }

    /// Takes in a final response.
    ///
    /// - Returns: whether `request` is now another one, to be sent with the body from its start.
    /// - Throws: ``UploadError`` for a redirect that is not followed.
    mutating func advance(after response: ResponseHead) throws -> Bool {
        switch response.statusCode {
        case 301, 302, 303, 307, 308: try follow(response)
        case 401: answerChallenge(response)
        case 417: withdrawExpectation()
        default: false
        }
    }

    /// Takes note of a request that is sent in place of the one here. Whoever made it does not know where redirects have led to:
    /// it loses what must not go along to another origin.
    mutating func adopt(_ other: inout URLRequest) {
        ownURL = other.url
        guard Origin(request.url) != firstOrigin else { return }
        let (names, own, given) = (credentialFieldNames, request, other)
        other.removeHeaderFields { name in
            names.contains(name) && given.value(forHTTPHeaderField: name) != own.value(forHTTPHeaderField: name)
        }
    }

    /// In lower case.
    private var credentialFieldNames: Set<String> { Set(rules.credentialFields.map { $0.lowercased() }) }

    private var sentURL: URL? { ownURL ?? request.url }

    /// A user and a password in the URL are sent with the first request, as every other tool does (RFC 7617), and are
    /// then a secret like any other.
    private mutating func moveUserInformation() {
        guard let url = request.url, let user = url.user(percentEncoded: false) else { return }
        request.url = url.withoutUserInformation
        guard request.value(forHTTPHeaderField: "Authorization") == nil else { return }
        authorize(user: user, password: url.password(percentEncoded: false) ?? "")
    }

    /// The same where several requests follow from one, whose URLs have no user.
    static func movingUserInformation(of request: URLRequest) -> URLRequest {
        RequestChain(request, carriesBody: true, rules: Rules()).request
    }

    private mutating func authorize(user: String, password: String) {
        let authorization = BasicAuthentication.authorization(user: user, password: password)
        request.setValue(authorization, forHTTPHeaderField: "Authorization")
        hasMadeAuthorization = true
    }

    private mutating func follow(_ response: ResponseHead) throws -> Bool {
        guard let limit = rules.redirects.limit,
            let location = response.headers["Location"], !location.isEmpty
        else { return false }
        guard redirectCount < limit else { throw UploadError(.tooManyRedirects, detail: "\(limit) followed") }
        let target = try Self.target(of: location, from: sentURL)
        redirectCount += 1
        if Origin(target) != Origin(sentURL) { dropSecrets() }
        (request.url, ownURL) = (target, nil)
        if turnsIntoGet(response.statusCode) { dropBody() }
        return true
    }

    /// Resolves a `Location` (RFC 9110 §10.2.2) and refuses what an upload must not go to.
    private static func target(of location: String, from source: URL?) throws -> URL {
        guard let target = URL(string: location, relativeTo: source)?.absoluteURL, target.scheme != nil else {
            throw UploadError(.redirectRefused, detail: "\(location.debugDescription) is not a URL")
        }
        guard let origin = Origin(target) else {
            throw UploadError(.redirectRefused, detail: "\(location) is not an HTTP URL")
        }
        if let from = Origin(source), from.isSecure, !origin.isSecure {
            throw UploadError(.redirectRefused, detail: "\(location) is not secure")
        }
        // A user and a password from there are nothing that the caller has asked for.
        return target.withoutUserInformation
    }

    private func turnsIntoGet(_ status: Int) -> Bool {
        switch status {
        case 301, 302: request.httpMethod == "POST"
        case 303: request.httpMethod != "HEAD"
        default: false
        }
    }

    private mutating func dropBody() {
        request.httpMethod = "GET"
        carriesBody = false
        request.removeHeaderFields { $0.hasPrefix("content-") || $0 == "expect" }
    }

    private mutating func dropSecrets() {
        var names = credentialFieldNames
        names.insert("host")
        // That is a secret whatever the rules say of the caller's own fields.
        if hasMadeAuthorization { names.insert("authorization") }
        request.removeHeaderFields { names.contains($0) }
    }

    /// Answers a challenge once, and only the origin that the caller addressed.
    private mutating func answerChallenge(_ response: ResponseHead) -> Bool {
        guard !hasAnsweredChallenge, Origin(sentURL) == firstOrigin,
            let challenges = response.headers["WWW-Authenticate"],
            BasicAuthentication.isOffered(by: challenges)
        else { return false }
        return useCredential()
    }

    /// - Returns: whether there is one.
    @discardableResult
    private mutating func useCredential() -> Bool {
        guard let user = rules.credential?.user, let password = rules.credential?.password else { return false }
        hasAnsweredChallenge = true
        authorize(user: user, password: password)
        return true
    }

    /// RFC 9110 §15.5.18: repeat the request without the expectation.
    private mutating func withdrawExpectation() -> Bool {
        guard request.value(forHTTPHeaderField: "Expect") != nil else { return false }
        request.setValue(nil, forHTTPHeaderField: "Expect")
        return true
    }
}
