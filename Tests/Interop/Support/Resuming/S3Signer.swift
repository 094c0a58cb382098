import Foundation

/// Signs URLs as Amazon S3 wants them: Signature Version 4, in the query
/// (<https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html>).
struct S3Signer: Sendable {
    var keyIdentifier = "test"
    var secretKey = "test"
    var date = Date()
    /// How many seconds from then on the URLs are good for.
    var lifetime = 3600

    private static let region = "us-east-1"
    private static let algorithm = "AWS4-HMAC-SHA256"

    /// - Parameter url: with the operation in its query, if that has one.
    func presigned(_ method: String, _ url: URL) throws -> URL {
        guard var components = URLComponents(url: url, resolvingAgainstBaseURL: true), let host = components.host else {
            throw URLError(.badURL)
        }
        let time = date.formatted(Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted))
        let day = String(time.prefix(8))
        let scope = "\(day)/\(Self.region)/s3/aws4_request"
        var items = components.queryItems ?? []
        items += [
            URLQueryItem(name: "X-Amz-Algorithm", value: Self.algorithm),
            URLQueryItem(name: "X-Amz-Credential", value: "\(keyIdentifier)/\(scope)"),
            URLQueryItem(name: "X-Amz-Date", value: time),
            URLQueryItem(name: "X-Amz-Expires", value: "\(lifetime)"),
            URLQueryItem(name: "X-Amz-SignedHeaders", value: "host"),
        ]
        let query = items.map { "\(Self.encoded($0.name))=\(Self.encoded($0.value ?? ""))" }.sorted()
            .joined(separator: "&")
        let hostField = host + (components.port.map { ":\($0)" } ?? "")
        let request = [
            method, components.percentEncodedPath, query, "host:\(hostField)", "", "host", "UNSIGNED-PAYLOAD",
        ].joined(separator: "\n")
        let text = [Self.algorithm, time, scope, Self.hexadecimal(SHA256.hash(Array(request.utf8)))]
            .joined(separator: "\n")
        let key = [day, Self.region, "s3", "aws4_request"].reduce(Array("AWS4\(secretKey)".utf8)) {
            SHA256.authentication(of: Array($1.utf8), key: $0)
        }
        let signature = Self.hexadecimal(SHA256.authentication(of: Array(text.utf8), key: key))
        components.percentEncodedQuery = "\(query)&X-Amz-Signature=\(signature)"
        guard let url = components.url else { throw URLError(.badURL) }
        return url
    }

    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    )

    private static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? text
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
