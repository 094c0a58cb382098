import AsyncUpload
import Foundation

/// A part of the form that `-F` and `--form-string` make.
struct FormPart: Equatable, Sendable {
    var name: String
    var origin: Origin
    /// What the server is told that the file is called; `nil` for a field.
    var filename: String?
    /// `nil`: the one that goes with the file's name.
    var contentType: String?
}

extension FormPart {
    /// A field whose value is taken literally.
    static func literal(_ text: String) throws(UsageError) -> FormPart {
        let (name, value) = try split(text, of: .formString)
        return FormPart(name: name, origin: .text(value))
    }

    /// The name and what comes after the first `=`.
    static func split(_ text: String, of flag: Flag) throws(UsageError) -> (name: String, value: String) {
        guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) else {
            let wish = flag == .form ? "NAME=VALUE, NAME=@FILE or NAME=<FILE" : "NAME=VALUE"
            throw UsageError("\(flag.name) needs \(wish), not \(text.debugDescription)")
        }
        guard equals > text.startIndex else {
            throw UsageError("\(flag.name) needs a name before the = of \(text.debugDescription)")
        }
        return (String(text[..<equals]), String(text[text.utf8.index(after: equals)...]))
    }
}

extension MultipartForm {
    /// The values go out as they were given, line breaks included.
    init(_ parts: [FormPart]) {
        self.init()
        for part in parts {
            let body: UploadBody =
                switch part.origin {
                case .text(let text): .data(Data(text.utf8))
                case .file(let path): .file(FilePath.url(path))
                case .standardInput: StandardInput().body
                }
            append(body, name: part.name, filename: part.filename, contentType: part.contentType)
        }
    }
}

extension StandardInput {
    /// A body with the length that it says.
    var body: UploadBody { .stream(self, length: length) }
}
