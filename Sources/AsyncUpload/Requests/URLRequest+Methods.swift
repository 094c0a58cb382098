public import Foundation

/// Requests by method.
///
/// ```swift
/// let found = try await uploader.send(.get("https://example.org/search", query: ["q": "C++ & Swift"]))
/// let answer = try await uploader.send(.post("https://example.org/orders", json: order))
/// let response = try await uploader.response(for: .put("https://example.org/film"), fromFile: movie)
/// ```
extension URLRequest {
    /// A GET request.
    ///
    /// - Parameters:
    ///   - target: a URL or a text that is one.
    ///   - query: names and values that are added to the URL's query, in order. Everything but letters, digits and `-._~` is
    ///     encoded; what the URL has already stays as it is. A name may come several times.
    /// - Throws: ``UploadError`` with the code ``UploadError/Code-swift.struct/invalidRequest`` when the target is not a URL of
    ///   HTTP.
    public static func get(
        _ target: some RequestTarget,
        query: KeyValuePairs<String, String> = [:]
    ) throws -> URLRequest {
        try get(target, query: query.map(URLQueryItem.init))
    }

    /// A GET request whose query is made elsewhere; see ``get(_:query:)-(_,KeyValuePairs<String,String>)``. An item without a
    /// value is a name without `=`.
    public static func get(_ target: some RequestTarget, query: [URLQueryItem]) throws -> URLRequest {
        try request("GET", target, query)
    }

    /// A POST request with the fields of a form as its body; see ``UploadBody/form(_:normalizingLineBreaks:)-([URLQueryItem],_)``.
    ///
    /// - Throws: as ``get(_:query:)-(_,KeyValuePairs<String,String>)``.
    public static func post(
        _ target: some RequestTarget,
        form: KeyValuePairs<String, String>
    ) throws -> URLRequest {
        try post(target, .form(form))
    }

    /// A POST request with the fields of a form as its body; see ``UploadBody/form(_:normalizingLineBreaks:)-([URLQueryItem],_)``.
    ///
    /// - Throws: as ``get(_:query:)-(_,KeyValuePairs<String,String>)``.
    public static func post(_ target: some RequestTarget, form: [URLQueryItem]) throws -> URLRequest {
        try post(target, .form(form))
    }

    /// A POST request with a value as JSON as its body.
    ///
    /// - Throws: as ``get(_:query:)-(_,KeyValuePairs<String,String>)``, and ``UploadError`` with the code
    ///   ``UploadError/Code-swift.struct/bodyNotEncodable`` when the value cannot be encoded.
    public static func post(
        _ target: some RequestTarget,
        json value: some Encodable,
        encoder: JSONEncoder = JSONEncoder()
    ) throws -> URLRequest {
        try post(target, .json(value, encoder: encoder))
    }

    /// A POST request whose body is given to the uploader.
    ///
    /// - Throws: as ``get(_:query:)-(_,KeyValuePairs<String,String>)``.
    public static func post(_ target: some RequestTarget) throws -> URLRequest {
        try request("POST", target)
    }

    /// A PUT request whose body is given to the uploader.
    ///
    /// - Throws: as ``get(_:query:)-(_,KeyValuePairs<String,String>)``.
    public static func put(_ target: some RequestTarget) throws -> URLRequest {
        try request("PUT", target)
    }

    private static func post(_ target: some RequestTarget, _ body: UploadBody) throws -> URLRequest {
        var request = try request("POST", target)
        request.httpBody = try body.bytes()
        request.setValue(body.contentType, forHTTPHeaderField: "Content-Type")
        return request
    }

    private static func request(
        _ method: String,
        _ target: some RequestTarget,
        _ query: [URLQueryItem] = []
    ) throws -> URLRequest {
        var request = URLRequest(url: try target.targetURL().adding(query))
        request.httpMethod = method
        return request
    }
}

extension URL {
    /// The URL with more items in its query.
    fileprivate func adding(_ items: [URLQueryItem]) throws -> URL {
        guard !items.isEmpty else { return self }
        let texts = items.map { item in
            [item.name, item.value].compactMap(\.self).map(PercentEncoding.queryEncoded).joined(separator: "=")
        }
        var components = URLComponents(url: self, resolvingAgainstBaseURL: true)
        let present = [components?.percentEncodedQuery].compactMap(\.self).filter { !$0.isEmpty }
        components?.percentEncodedQuery = (present + texts).joined(separator: "&")
        guard let url = components?.url else {
            throw UploadError(.invalidRequest, detail: "\(withoutUserInformation.absoluteString) takes no query")
        }
        return url
    }
}
