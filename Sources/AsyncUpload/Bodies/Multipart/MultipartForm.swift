public import Foundation

/// The fields and files of a form, in order (RFC 7578).
///
/// ```swift
/// var form = MultipartForm()
/// form.append("Ann", name: "author")
/// form.append(fromFile: movie, name: "film")
/// let response = try await uploader.response(for: request, from: .multipart(form))
/// ```
///
/// A form is a description: nothing is opened or read before it is sent. Several parts may have the same name. What a browser
/// would send for the same form is what is sent: names in UTF-8, with `"`, CR and LF in them as `%22`, `%0D` and `%0A`.
public struct MultipartForm: Sendable {
    struct Part: Sendable {
        let name: String
        let filename: String?
        let contentType: String?
        let body: UploadBody
    }

    private(set) var parts: [Part] = []

    /// A form without parts.
    public init() {}

    /// Adds a field with a text as its value.
    ///
    /// A lone CR or LF in the value becomes CR LF, as in a browser; add the text's UTF-8 as data to have it as it is.
    ///
    /// - Parameters:
    ///   - value: the field's value.
    ///   - name: the field's name.
    public mutating func append(_ value: String, name: String) {
        append(.data(Data(LineBreaks.normalized(value).utf8)), name: name)
    }

    /// Adds a part with any other body: data, JSON, a file, a stream, another form.
    ///
    /// - Parameters:
    ///   - body: the part's content. One whose length is not known makes the length of the whole form unknown.
    ///   - name: the field's name.
    ///   - filename: what makes it a file for the server; `nil` for a field. It may be empty.
    ///   - contentType: the part's media type; an empty one for none; `nil` for the body's own, else for the one that goes with
    ///     the name of the file (a short list of usual ones, otherwise `application/octet-stream`), else for none.
    public mutating func append(
        _ body: UploadBody,
        name: String,
        filename: String? = nil,
        contentType: String? = nil
    ) {
        let type =
            contentType.map { $0.isEmpty ? $0 : body.contentType(replacing: $0) } ?? body.contentType
            ?? filename.map(MediaType.guessed(forFilename:))
        parts.append(Part(name: name, filename: filename, contentType: type, body: body))
    }

    /// Adds a file.
    ///
    /// It is opened when its turn comes, and closed when it has been read: of any number of files few are open. One that
    /// changes between the beginning of the upload and its own end, or is gone when its turn comes, fails the upload.
    ///
    /// - Parameters:
    ///   - fileURL: the `file:` URL of a regular file.
    ///   - name: the field's name.
    ///   - filename: what the server is told that the file is called; `nil` for the last part of its path.
    ///   - contentType: the file's media type; `nil` for the one that goes with the name.
    public mutating func append(
        fromFile fileURL: URL,
        name: String,
        filename: String? = nil,
        contentType: String? = nil
    ) {
        append(
            .file(fileURL),
            name: name,
            filename: filename ?? fileURL.lastPathComponent,
            contentType: contentType
        )
    }
}

extension UploadBody {
    /// A form, with the content type `multipart/form-data` and a boundary of its own.
    ///
    /// Where the length of every part is known, so is that of the form: nothing is put together beforehand, and memory does
    /// not grow with it. With `URLSession` a form with a stream is put into a temporary file first, and on Apple platforms one
    /// with a file or more than 64 KiB, too.
    ///
    /// The `Content-Type` always has the body's boundary: a type `multipart/…` of the request keeps its other parameters, and
    /// any other type is replaced.
    public static func multipart(_ form: MultipartForm) -> UploadBody {
        UploadBody(MultipartEncoding(form))
    }
}
