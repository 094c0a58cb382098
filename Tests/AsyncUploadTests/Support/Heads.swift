import Foundation

@testable import AsyncUpload

/// A URL that is known to be one.
func url(_ text: String) -> URL {
    guard let url = URL(string: text) else { preconditionFailure("\(text) is not a URL") }
    return url
}

/// A request with a method and, if they are given, header fields.
func request(_ address: String, _ method: String = "PUT", _ fields: [String: String] = [:]) -> URLRequest {
    var request = URLRequest(url: url(address))
    request.httpMethod = method
    request.allHTTPHeaderFields = fields
    return request
}

/// The head of a response.
func head(
    _ status: Int,
    _ fields: [String: String] = [:],
    from address: String = "http://host.test/"
) -> HTTPURLResponse {
    guard
        let head = HTTPURLResponse(url: url(address), statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
    else { preconditionFailure("no head for \(address)") }
    return head
}
