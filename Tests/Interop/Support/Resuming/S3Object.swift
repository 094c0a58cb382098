import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An object of a server that speaks S3.
struct S3Object: Sendable {
    let server: ResumableServer
    let name: String
    /// Where clients find it, which is what is signed.
    let url: URL

    /// Whether the server tells the parts of an upload. moto calls the list by another name, which the library does not
    /// A presigned request.
    func request(_ method: String, _ query: String = "", _ signer: S3Signer = S3Signer()) throws -> URLRequest {
        var components = URLComponents(url: url, resolvingAgainstBaseURL: true)
        components?.percentEncodedQuery = query.isEmpty ? nil : query
        guard let url = components?.url else { throw URLError(.badURL) }
        var request = URLRequest(url: try signer.presigned(method, url))
        request.httpMethod = method
        return request
    }
}
