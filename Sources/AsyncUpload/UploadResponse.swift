public import Foundation

/// The server's final answer to an upload.
public struct UploadResponse: Sendable {
    /// The status code (RFC 9110 §15).
    public var statusCode: Int

    /// The header fields.
    public var headers: HTTPFields

    /// The body; `nil` when it is empty.
    public var body: Data?

    /// Where the answer came from: the request's URL, or that of the last redirect.
    public var url: URL?

    /// What the upload cost.
    public var metrics: UploadMetrics

    /// Makes a response; of use in tests.
    public init(
        statusCode: Int,
        headers: HTTPFields = HTTPFields(),
        body: Data? = nil,
        url: URL? = nil,
        metrics: UploadMetrics = UploadMetrics()
    ) {
        self.statusCode = statusCode
        self.headers = headers
        self.body = body
        self.url = url
        self.metrics = metrics
    }

    /// The media type of the body without its parameters and in lower case, such as `text/html`; `nil` when the server names none.
    public var mimeType: String? {
        let type = headers["Content-Type"]?.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
        return type?.isEmpty == false ? type : nil
    }

    /// The body as text; empty when there is no body.
    ///
    /// The charset of the `Content-Type` is honoured where it is known: UTF-8, UTF-16, US-ASCII and ISO-8859-1.
    /// Without one, or with another one, the body is read as UTF-8, and as ISO-8859-1 if it is not valid UTF-8. Every
    /// body gives a text: bytes that do not fit become U+FFFD.
    ///
    /// - Parameter decodingHTMLEntities: whether references such as `&eacute;`, `&#233;` and `&#xE9;` are replaced by their
    ///   characters: those that HTML 4 names and numeric ones, with their semicolon.
    public func text(decodingHTMLEntities: Bool = false) -> String {
        let text = TextDecoding.text(of: body ?? Data(), contentType: headers["Content-Type"])
        return decodingHTMLEntities ? HTMLEntities.decoded(text) : text
    }

    /// The body decoded from JSON.
    ///
    /// - Throws: ``UploadError`` with the code ``UploadError/Code-swift.struct/responseNotDecodable``; its detail names
    ///   the type, the place in the JSON and the first bytes of the body, and the `DecodingError` is underlying.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self,
        decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        do {
            return try decoder.decode(type, from: body ?? Data())
        } catch {
            let detail = "\(type)\(TextDecoding.place(of: error)); it begins \(text().prefix(80).debugDescription)"
            throw UploadError(
                .responseNotDecodable,
                detail: detail,
                response: self,
                metrics: metrics,
                underlying: error
            )
        }
    }
}
