import AsyncUpload
import Foundation
import Testing

/// A part of a form.
struct FormPart: Decodable, Equatable {
    var name: String
    var filename: String?
    var contentType: String?
    var content = Data()
    /// Those of a form within the form.
    var parts: [FormPart]?

    static func field(_ name: String, _ text: String) -> FormPart {
        FormPart(name: name, content: Data(text.utf8))
    }

    /// Byte by byte: texts are equal already when they look the same.
    static func == (one: FormPart, other: FormPart) -> Bool {
        func bytes(_ part: FormPart) -> [[UInt8]?] {
            [part.name, part.filename, part.contentType].map { $0.map { Array($0.utf8) } }
        }
        return bytes(one) == bytes(other) && one.content == other.content && one.parts == other.parts
    }
}

/// What the server says about any request.
struct ReceivedRequest: Decodable {
    let contentType: String?
    /// The value of `Content-Length`.
    let contentLength: String?
    let transferEncoding: String?
    /// How many bytes the body had.
    let byteCount: Int
    /// `nil` when the content type names no boundary.
    let framing: Framing?

    /// How a form with boundaries is written down.
    struct Framing: Decodable, Equatable {
        /// How many lines with the boundary there are after a CR LF or at the start, the last one included.
        var delimiterCount: Int
        /// Whether the first bytes are the boundary's line.
        var startsWithDelimiter = true
        /// Whether the last bytes are the boundary's last line.
        var endsWithDelimiter = true
        /// Whether lines of a part's head end in something else than CR LF.
        var headsHaveLoneBreaks = false
    }
}

/// What werkzeug finds in a form. It tells no content type of a field.
struct WerkzeugReading: Decodable {
    let received: ReceivedRequest
    let fields: [FormPart]
    let files: [FormPart]
}

/// What Python's email package finds in a form.
struct EmailReading: Decodable {
    let received: ReceivedRequest
    let parts: [FormPart]
    /// The header lines of each part, as they were sent.
    let heads: [[String]]
    /// What it did not like.
    let defects: [String]
}

extension FormServer {
    /// Has a parser read a body.
    ///
    /// - Parameter contentType: what the request says; `nil` for nothing.
    func reading<Reading: Decodable>(
        _ path: String,
        _ body: UploadBody,
        by uploader: Uploader,
        contentType: String? = nil
    ) async throws -> Reading {
        var request = try URLRequest.post(url(path))
        request.setValue(contentType, forHTTPHeaderField: "Content-Type")
        return try await uploader.response(for: request, from: body).decode()
    }

    /// Has both parsers read a form and checks that these are its parts, and that nothing else is in it.
    ///
    /// - Returns: what they say about the requests.
    @discardableResult
    func expect(
        _ parts: [FormPart],
        in form: MultipartForm,
        by uploader: Uploader,
        contentType: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> [ReceivedRequest] {
        let body = UploadBody.multipart(form)
        let werkzeug: WerkzeugReading = try await reading("/werkzeug", body, by: uploader, contentType: contentType)
        let fields = parts.filter { $0.filename == nil }.map { FormPart(name: $0.name, content: $0.content) }
        #expect(werkzeug.fields == fields, sourceLocation: sourceLocation)
        #expect(werkzeug.files == parts.filter { $0.filename != nil }, sourceLocation: sourceLocation)
        let email: EmailReading = try await reading("/email", body, by: uploader, contentType: contentType)
        #expect(email.parts == parts, sourceLocation: sourceLocation)
        #expect(email.defects.isEmpty, sourceLocation: sourceLocation)
        let framing = ReceivedRequest.Framing(delimiterCount: parts.count + 1)
        for received in [werkzeug.received, email.received] {
            #expect(received.framing == framing, sourceLocation: sourceLocation)
        }
        return [werkzeug.received, email.received]
    }
}
