public import Foundation

extension Exchange {
    /// Sends an interim (1xx) response.
    public func interim(_ status: Int, reason: String? = nil, headers: [(String, String)] = []) throws {
        if status == 100 { hasContinued = true }
        try connection.send(Data(headText(status, reason: reason, headers: headers).utf8))
    }

    /// Sends the final response.
    ///
    /// Adds Content-Length, unless the headers have that or Transfer-Encoding (`body` has to be framed then), or the
    /// status rules a body out; and `Connection: close` where the server is going to close. The answer to HEAD has no
    /// body.
    public func respond(
        _ status: Int,
        reason: String? = nil,
        headers: [(String, String)] = [],
        body: Data = Data()
    ) throws {
        let isBodiless = status == 204 || status == 304
        if listed(headers, "Connection").contains(where: { $0.lowercased().contains("close") }) {
            closesAfterwards = true
        }
        var headers = headers
        if !isBodiless, listed(headers, "Content-Length").isEmpty, listed(headers, "Transfer-Encoding").isEmpty {
            headers.append(("Content-Length", "\(body.count)"))
        }
        if closesAfterwards, listed(headers, "Connection").isEmpty { headers.append(("Connection", "close")) }
        var message = Data(headText(status, reason: reason, headers: headers).utf8)
        if !isBodiless, head.method != "HEAD" { message.append(body) }
        answering(status)
        if let replyLimit {
            try connection.send(message.prefix(replyLimit))
            return close(draining: !decoder.isComplete)
        }
        try connection.send(message)
    }

    /// Sends the final response with a text as its body; see ``respond(_:reason:headers:body:)-(_,_,_,Data)``.
    public func respond(
        _ status: Int,
        reason: String? = nil,
        headers: [(String, String)] = [],
        body: String
    ) throws {
        try respond(status, reason: reason, headers: headers, body: Data(body.utf8))
    }

    /// Sends `bytes` as they are.
    ///
    /// The request counts as answered then. The connection stays open unless the handler closes it.
    public func send(_ bytes: Data) throws {
        if !hasAnswered { answering(statusCode(of: bytes)) }
        try connection.send(bytes)
    }

    /// Sends the text as it is, in UTF-8; see ``send(_:)-(Data)``.
    public func send(_ text: String) throws {
        try send(Data(text.utf8))
    }

    /// The record comes first: who has seen the answer finds its status there.
    private func answering(_ status: Int?) {
        hasAnswered = true
        if let status { self.status = status }
        publish()
    }

    /// The status in a raw response, if it begins with that of a final one.
    private func statusCode(of bytes: Data) -> Int? {
        let words = bytes.prefix(12).split(separator: UInt8(ascii: " "))
        guard words.count == 2, words[0].starts(with: "HTTP/1.".utf8) else { return nil }
        return Int(String(decoding: words[1], as: UTF8.self)).flatMap { (200...999).contains($0) ? $0 : nil }
    }
}

/// A whole response of the server's own.
func answer(_ status: Int, body: Data, close: Bool) -> Data {
    var headers = [("Content-Length", "\(body.count)")]
    if close { headers.append(("Connection", "close")) }
    return Data(headText(status, reason: nil, headers: headers).utf8) + body
}

private func headText(_ status: Int, reason: String?, headers: [(String, String)]) -> String {
    let lines = headers.map { "\($0.0): \($0.1)\r\n" }.joined()
    return "HTTP/1.1 \(status) \(reason ?? reasons[status] ?? "Status")\r\n\(lines)\r\n"
}

private func listed(_ headers: [(String, String)], _ name: String) -> [String] {
    headers.filter { isSame($0.0, name) }.map(\.1)
}

private let reasons = [
    100: "Continue", 103: "Early Hints", 104: "Upload Resumption Supported", 200: "OK", 201: "Created",
    202: "Accepted", 204: "No Content", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
    307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
    404: "Not Found", 405: "Method Not Allowed", 408: "Request Timeout", 409: "Conflict", 410: "Gone",
    411: "Length Required", 412: "Precondition Failed", 413: "Content Too Large", 415: "Unsupported Media Type",
    417: "Expectation Failed", 423: "Locked", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
    499: "Client Closed Request", 500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway",
    503: "Service Unavailable", 504: "Gateway Timeout",
]
