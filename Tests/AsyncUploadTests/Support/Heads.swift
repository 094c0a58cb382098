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
) -> ResponseHead {
    var head = ResponseHead(url: url(address), statusCode: status)
    for (name, value) in fields { head.headers.append(value, for: name) }
    return head
}

/// The metrics of so many requests.
func metrics(_ attempts: Int) -> UploadMetrics {
    UploadMetrics(transactions: Array(repeating: .init(), count: attempts))
}
