import Foundation

/// A response without its body.
struct ResponseHead: Sendable {
    /// The URL of the request that it answers.
    let url: URL?
    let statusCode: Int
    var headers = HTTPFields()

    init(url: URL?, statusCode: Int) {
        self.url = url
        self.statusCode = statusCode
    }

    init(_ response: HTTPURLResponse) {
        url = response.url
        statusCode = response.statusCode
        headers = HTTPFields(response)
    }
}
