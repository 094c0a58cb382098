public import Foundation

extension UploadBody {
    /// The fields of a form, with the content type `application/x-www-form-urlencoded`.
    ///
    /// They are sent in order, and a name may come several times. Names and values go out as a browser sends them: in UTF-8,
    /// a space as `+`, and everything but letters, digits and `*-._` as `%XX` (URL Standard,
    /// "application/x-www-form-urlencoded").
    ///
    /// - Parameters:
    ///   - fields: names and values; a value that is `nil` is sent empty.
    ///   - normalizingLineBreaks: whether a lone CR or LF becomes CR LF, as it does when a browser sends a form. Scripts that
    ///     use `URLSearchParams` send them as they are.
    public static func form(_ fields: [URLQueryItem], normalizingLineBreaks: Bool = true) -> UploadBody {
        let text = fields.map { field in
            [field.name, field.value ?? ""]
                .map { PercentEncoding.formEncoded(normalizingLineBreaks ? LineBreaks.normalized($0) : $0) }
                .joined(separator: "=")
        }
        return UploadBody(Data(text.joined(separator: "&").utf8), contentType: "application/x-www-form-urlencoded")
    }

    /// The fields of a form, written as a literal; see ``form(_:normalizingLineBreaks:)-([URLQueryItem],_)``.
    public static func form(
        _ fields: KeyValuePairs<String, String>,
        normalizingLineBreaks: Bool = true
    ) -> UploadBody {
        form(fields.map(URLQueryItem.init), normalizingLineBreaks: normalizingLineBreaks)
    }
}
