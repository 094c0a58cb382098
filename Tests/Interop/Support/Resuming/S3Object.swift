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

    /// A presigned request.
    func request(_ method: String, _ query: String = "", _ signer: S3Signer = S3Signer()) throws -> URLRequest {
        var components = URLComponents(url: url, resolvingAgainstBaseURL: true)
        components?.percentEncodedQuery = query.isEmpty ? nil : query
        guard let url = components?.url else { throw URLError(.badURL) }
        var request = URLRequest(url: try signer.presigned(method, url))
        request.httpMethod = method
        return request
    }

    /// Begins an upload, and says where its parts go, as the tool takes it.
    func partURLs(_ count: Int) async throws -> Data {
        let upload = "uploadId=\(try await server.createMultipartUpload(name))"
        func url(_ method: String, _ query: String) throws -> String? {
            try request(method, query).url?.absoluteString
        }
        return try JSONEncoder().encode(
            PartURLs(
                uploadId: String(upload.dropFirst("uploadId=".count)),
                parts: (1...count).map { try url("PUT", "partNumber=\($0)&\(upload)") },
                complete: url("POST", upload),
                list: url("GET", upload)
            )
        )
    }

    private struct PartURLs: Encodable {
        let uploadId: String
        let parts: [String?]
        let complete: String?
        let list: String?
    }
}
