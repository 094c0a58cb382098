import Foundation

/// How a form is written down (RFC 2046 §5.1.1, RFC 7578 §4, and for names HTML's "multipart/form-data encoding algorithm").
struct MultipartEncoding: Sendable {
    private let form: MultipartForm
    let boundary: String

    /// - Parameter boundary: only letters, digits and `-`, so that it needs no quotes; random enough by itself, so that nobody
    ///   has to look for it in the parts.
    init(_ form: MultipartForm, boundary: String = MultipartEncoding.makeBoundary()) {
        self.form = form
        self.boundary = boundary
    }

    var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    /// The type to send when the request has one: its kind of multipart and its parameters, with this boundary.
    func contentType(replacing given: String) -> String {
        let elements = QuotedList.elements(of: given, separatedBy: ";").map { $0.trimmingCharacters(in: .whitespaces) }
        guard let type = elements.first, type.lowercased().hasPrefix("multipart/"),
            RequestValidation.isToken(String(type.dropFirst("multipart/".count)))
        else { return contentType }
        let others = elements.dropFirst().filter { !$0.isEmpty && !Self.isBoundary($0) }
        // First, so that nothing which is wrong with the others is about it.
        return ([type, "boundary=\(boundary)"] + others).joined(separator: "; ")
    }

    /// RFC 2231 also allows `boundary*=` and `boundary*0=`.
    private static func isBoundary(_ parameter: String) -> Bool {
        let name = parameter.prefix { $0 != "=" && $0 != "*" }.trimmingCharacters(in: .whitespaces)
        return name.lowercased() == "boundary"
    }

    /// Opens every part, and finds the length of it all.
    ///
    /// - Throws: ``UploadError`` when a part cannot be sent.
    func open() throws -> OpenBody {
        var pieces: [OpenBody] = []
        var length: Int64? = 0
        func add(_ piece: OpenBody) throws {
            pieces.append(piece)
            guard let sum = length, let more = piece.length else { return length = nil }
            let (total, isTooLarge) = sum.addingReportingOverflow(more)
            guard !isTooLarge else { throw UploadError(.bodyLengthMismatch, detail: "the parts are too long together") }
            length = total
        }
        for (index, part) in form.parts.enumerated() {
            try add(.source(DataBodySource(Data(try head(of: part, isFirst: index == 0).utf8))))
            try add(try part.body.open(asPart: true))
        }
        let end = (form.parts.isEmpty ? "" : "\r\n") + "--\(boundary)--\r\n"
        try add(.source(DataBodySource(Data(end.utf8))))
        return CompositeBody.joining(pieces, length: length)
    }

    private func head(of part: MultipartForm.Part, isFirst: Bool) throws -> String {
        let name = Self.escaped(LineBreaks.normalized(part.name))
        var lines = ["--\(boundary)", "Content-Disposition: form-data; name=\"\(name)\""]
        if let filename = part.filename { lines[1] += "; filename=\"\(Self.escaped(filename))\"" }
        if let type = part.contentType, !type.isEmpty {
            guard RequestValidation.isFieldValue(type) else {
                throw UploadError(.invalidRequest, detail: "the content type of the part \(name.debugDescription)")
            }
            lines.append("Content-Type: \(type)")
        }
        // The line break before a delimiter belongs to it.
        return (isFirst ? "" : "\r\n") + lines.joined(separator: "\r\n") + "\r\n\r\n"
    }

    /// By bytes: CR LF is one character.
    private static func escaped(_ name: String) -> String {
        var bytes: [UInt8] = []
        for byte in name.utf8 {
            switch byte {
            case UInt8(ascii: "\""): bytes += "%22".utf8
            case UInt8(ascii: "\r"): bytes += "%0D".utf8
            case UInt8(ascii: "\n"): bytes += "%0A".utf8
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func makeBoundary() -> String {
        let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
        return "AsyncUpload-" + String((0..<24).map { _ in alphabet[Int.random(in: alphabet.indices)] })
    }
}
