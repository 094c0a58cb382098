import Foundation

/// What Amazon S3 answers, and what it is sent to complete a multipart upload.
enum S3Answer {
    /// What has come of putting the parts together.
    enum Completion {
        case done
        case failed(UploadError)
    }

    /// A part that the server has.
    struct ListedPart: Equatable {
        var number: Int
        var entityTag: String
        var size: Int64
    }

    /// The parts of an upload as ListParts gives them.
    struct Listing: Equatable {
        var parts: [ListedPart]
        /// There are more, of higher numbers.
        var isTruncated: Bool
    }

    /// What may pass whatever the status is
    /// (<https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html>).
    private static let passing: Set<String> = [
        "InternalError", "ServiceUnavailable", "SlowDown", "RequestTimeout", "OperationAborted",
        "ConditionalRequestConflict", "BadDigest",
    ]

    /// The code of an `<Error>`; `nil` when it is none.
    static func errorCode(_ body: Data) -> String? {
        let text = XMLText(body)
        guard text.root == "Error" else { return nil }
        return text.element("Code")?.content
    }

    /// The error for a response that is no success.
    static func refused(_ head: ResponseHead, _ body: Data) -> UploadError {
        var error = UploadError.refused(head, body)
        guard let code = errorCode(body) else { return error }
        error.detail = "\(error.detail ?? ""): \(code)"
        // The status alone would not tell.
        if !error.isTransient, passing.contains(code) { error.code = .transferFailed }
        return error
    }

    /// Whether the upload is not there. Some servers leave out the code.
    static func saysGone(_ head: ResponseHead, _ body: Data) -> Bool {
        head.statusCode == 404 && ["NoSuchUpload", nil].contains(errorCode(body))
    }

    /// Whether another signature may help. Credentials that have expired meanwhile are a 400.
    static func saysDenied(_ head: ResponseHead, _ body: Data) -> Bool {
        head.statusCode == 403 || errorCode(body) == "ExpiredToken"
    }

    /// Whether the parts cannot be put together as they are.
    static func condemnsParts(_ body: Data) -> Bool {
        ["InvalidPart", "InvalidPartOrder", "EntityTooSmall", "EntityTooLarge"].contains(errorCode(body))
    }

    /// What a 2xx to CompleteMultipartUpload means: the status is sent before the work is done, white space keeps the
    /// connection open meanwhile, and what comes in the end may be an error
    /// (<https://docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html>).
    static func completion(_ head: ResponseHead, _ body: Data) -> Completion {
        let text = XMLText(body)
        if let root = text.root, isRoot(root, of: "CompleteMultipartUpload"), text.element(root) != nil { return .done }
        var error = refused(head, body)
        if text.root != "Error" || text.element("Error") == nil {
            error.code = .transferFailed
            error.detail = "the answer to CompleteMultipartUpload is not complete"
        }
        return .failed(error)
    }

    /// Servers that are like Amazon's write "Response" as well.
    private static func isRoot(_ name: String, of operation: String) -> Bool {
        name == operation + "Result" || name == operation + "Response"
    }

    /// What a 2xx to ListParts means.
    ///
    /// - Throws: ``UploadError``: one that may pass where it is only the beginning of a list or of an error, and
    ///   ``UploadError/Code-swift.struct/protocolViolation`` where it is neither, which asking again would not change.
    static func listing(_ head: ResponseHead, _ body: Data) throws(UploadError) -> Listing {
        let text = XMLText(body)
        var error = refused(head, body)
        guard let root = text.root else {
            let start = String(decoding: body.prefix(1000), as: UTF8.self).trimmingCharacters(in: xmlSpace)
            error.code = start.isEmpty || start.hasPrefix("<") ? .transferFailed : .protocolViolation
            error.detail = "the list of parts is \(error.code == .transferFailed ? "not complete" : "no XML")"
            throw error
        }
        guard root == "Error" || isRoot(root, of: "ListParts") else {
            error.code = .protocolViolation
            error.detail = "<\(root.prefix(100))> in place of the list of parts"
            throw error
        }
        guard let list = text.element(root) else {
            error.code = .transferFailed
            error.detail = "the list of parts is not complete"
            throw error
        }
        guard root != "Error" else { throw error }
        return listing(list)
    }

    /// What may be before a text's first element, a mark of its encoding included.
    private static let xmlSpace = CharacterSet.whitespacesAndNewlines.union(CharacterSet(charactersIn: "\u{feff}"))

    private static func listing(_ list: XMLText) -> Listing {
        let parts: [ListedPart] = list.elements("Part").compactMap { part in
            guard let number = part.element("PartNumber").flatMap({ Int($0.content) }),
                let entityTag = part.element("ETag")?.content, !entityTag.isEmpty,
                let size = part.element("Size").flatMap({ Int64(decimal: $0.content) })
            else { return nil }
            return ListedPart(number: number, entityTag: entityTag, size: size)
        }
        return Listing(parts: parts, isTruncated: list.element("IsTruncated")?.content.lowercased() == "true")
    }

    /// The body of CompleteMultipartUpload.
    static func completionBody(_ parts: [Int: ResumptionState.Part]) -> Data {
        var text = #"<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">"#
        for (number, part) in parts.sorted(by: { $0.key < $1.key }) {
            let tag = XMLText.escaped(part.entityTag ?? "")
            text += "<Part><PartNumber>\(number)</PartNumber><ETag>\(tag)</ETag></Part>"
        }
        return Data((text + "</CompleteMultipartUpload>").utf8)
    }
}

extension URLRequest {
    /// The request as it was signed: whoever makes one of a presigned URL may not think of the method. The type is added
    /// unless there is one, which may be signed.
    func presigned(_ method: String, contentType: String? = nil) -> URLRequest {
        var request = self
        if httpMethod == nil || httpMethod == "GET" { request.httpMethod = method }
        if let contentType, value(forHTTPHeaderField: "Content-Type") == nil {
            request.setValue(contentType, forHTTPHeaderField: "Content-Type")
        }
        return request
    }
}
