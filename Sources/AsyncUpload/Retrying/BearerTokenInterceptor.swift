/// Sends a bearer token with each request (RFC 6750 §2.1), and has it renewed when the server refuses it.
///
/// Many uploads that are refused at about the same time renew the token once, and are each attempted once more with the new one.
/// Give the same interceptor to every uploader that uses the token. The token is only sent to the origin that an upload is
/// addressed to, as long as `Authorization` is one of ``Uploader/Configuration-swift.struct/credentialFields``.
public actor BearerTokenInterceptor: UploadInterceptor {
    /// Gives a new token.
    ///
    /// Called once at a time; requests wait for it. If it fails, uploads that have sent nothing yet fail with its error, those
    /// whose token was refused with the server's status. The refused token is `nil` if there was none yet.
    public typealias Renewal = @Sendable (_ refused: String?) async throws -> String

    private let renewal: Renewal
    private var token: Secret<String>
    private var ongoing: Task<String, any Error>?

    /// - Parameters:
    ///   - token: the token to begin with; without one it is asked for before the first request.
    ///   - renewal: gives a new token.
    public init(token: String? = nil, renewal: @escaping Renewal) {
        self.token = Secret(value: token)
        self.renewal = renewal
    }

    /// Adds the token.
    public func prepare(_ request: URLRequest, attempt: Int) async throws -> URLRequest {
        // One that is being renewed was refused.
        let token = if ongoing == nil, let token = token.value { token } else { try await renewed(inPlaceOf: nil) }
        var request = request
        request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        return request
    }

    /// After a 401 has the token renewed, unless that was done since the request was sent.
    public func recover(from error: UploadError, of request: URLRequest, attempt: Int) async -> UploadRecovery {
        guard error.response?.statusCode == 401, let refused = Self.token(of: request) else { return .fail }
        do {
            let current =
                if let token = token.value, token != refused { token } else { try await renewed(inPlaceOf: refused) }
            return current == refused ? .fail : .retry
        } catch {
            return .fail
        }
    }

    private static func token(of request: URLRequest) -> String? {
        let parts = request.value(forHTTPHeaderField: "Authorization")?.split(separator: " ", maxSplits: 1)
        guard let parts, parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }

    /// Waits for the renewal that is under way, or begins one. It goes on when one of those who wait is cancelled.
    private func renewed(inPlaceOf refused: String?) async throws -> String {
        let renewing = ongoing ?? begin(refused)
        ongoing = renewing
        return try await renewing.value
    }

    private func begin(_ refused: String?) -> Task<String, any Error> {
        Task { [renewal] in
            defer { ongoing = nil }
            let new = try await renewal(refused)
            token.value = new
            return new
        }
    }
}
