import Foundation

/// Reads a response's body as text.
enum TextDecoding {
    static func text(of body: Data, contentType: String?) -> String {
        if let encoding = encoding(of: contentType) {
            return String(data: body, encoding: encoding) ?? String(decoding: body, as: UTF8.self)
        }
        return String(data: body, encoding: .utf8)
            ?? String(data: body, encoding: .isoLatin1)
            ?? String(decoding: body, as: UTF8.self)
    }

    /// The encoding that the `charset` parameter names, if it is one of the documented ones.
    static func encoding(of contentType: String?) -> String.Encoding? {
        guard let charset = parameter("charset", of: contentType ?? "") else { return nil }
        switch charset.lowercased() {
        case "utf-8", "utf8": return .utf8
        case "utf-16": return .utf16
        case "utf-16le": return .utf16LittleEndian
        case "utf-16be": return .utf16BigEndian
        case "iso-8859-1", "latin1": return .isoLatin1
        case "us-ascii", "ascii": return .ascii
        default: return nil
        }
    }

    /// The value of a parameter of a media type (RFC 9110 §5.6.6), without its quotes.
    static func parameter(_ name: String, of mediaType: String) -> String? {
        for part in QuotedList.elements(of: mediaType, separatedBy: ";").dropFirst() {
            let pair = part.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            guard pair.count == 2, pair[0].lowercased() == name else { continue }
            return pair[1].trimmingCharacters(in: CharacterSet(charactersIn: "\""))
        }
        return nil
    }

    /// Where in the JSON the decoder stopped, such as ` at items.3.price`.
    static func place(of error: any Error) -> String {
        let path: [any CodingKey] =
            switch error as? DecodingError {
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
                context.codingPath
            case .keyNotFound(let key, let context): context.codingPath + [key]
            default: []
            }
        guard !path.isEmpty else { return "" }
        return " at " + path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
    }
}
