import Foundation

/// Refuses what could not be sent as meant, before anything is sent.
enum RequestValidation {
    /// - Parameter bodyLength: the length of the body; `nil` when it is not known.
    static func check(_ request: URLRequest, bodyLength: Int64?) throws {
        guard Origin(request.url) != nil else {
            throw invalid("\(request.url?.textForErrors ?? "no URL") is not an HTTP URL")
        }
        let method = request.httpMethod ?? "GET"
        guard isToken(method) else { throw invalid("the method \(method.debugDescription)") }
        if bodyLength != 0, isBodiless(request) {
            throw invalid("a \(method) request does not carry a body")
        }
        var names: Set<String> = []
        for (name, value) in request.allHTTPHeaderFields ?? [:] {
            try checkField(name, value)
            // Which one counts would be chance.
            guard names.insert(name.lowercased()).inserted else {
                throw invalid("the header field \(name) is there twice")
            }
        }
        try checkFraming(request, length: bodyLength)
    }

    /// Whether the method is one whose requests carry no body (RFC 9110 §9.3).
    static func isBodiless(_ request: URLRequest) -> Bool {
        ["GET", "HEAD", "TRACE"].contains(request.httpMethod ?? "GET")
    }

    /// CR, LF or NUL in a value would let it become other fields (RFC 9110 §5.5).
    static func isFieldValue(_ value: String) -> Bool {
        !value.utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 }
    }

    private static func checkField(_ name: String, _ value: String) throws {
        guard isToken(name) else { throw invalid("the header field name \(name.debugDescription)") }
        guard isFieldValue(value) else {
            throw invalid("the value of the header field \(name) has a line break or a NUL in it")
        }
    }

    /// The framing is the library's: one `Content-Length`, the body's (RFC 9112 §6).
    private static func checkFraming(_ request: URLRequest, length: Int64?) throws {
        if request.value(forHTTPHeaderField: "Transfer-Encoding") != nil {
            throw invalid("Transfer-Encoding cannot be set; it follows from the body")
        }
        guard let text = request.value(forHTTPHeaderField: "Content-Length") else { return }
        guard let length else {
            throw invalid("the header field Content-Length says \(text); say it as the length of the stream")
        }
        guard Int64(decimal: text) == length else {
            throw invalid("the header field Content-Length says \(text), the body has \(length) bytes")
        }
    }

    /// RFC 9110 §5.6.2.
    static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { $0.isAlphanumericASCII || "!#$%&'*+-.^_`|~".utf8.contains($0) }
    }

    private static func invalid(_ detail: String) -> UploadError {
        UploadError(.invalidRequest, detail: detail)
    }
}
