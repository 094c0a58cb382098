import AsyncUpload
import Foundation

/// One upload, ready to be started.
struct Job: Sendable {
    let label: String
    let request: URLRequest
    let body: UploadBody
    /// As far as it is known beforehand; for the bar only.
    let size: Int64?

    init(_ source: Source, _ options: Options, label: String? = nil) {
        self.label = label ?? source.label
        request = Self.request(for: source, options)
        switch source.content {
        case .file(let path):
            body = .file(FilePath.url(path))
            size = FilePath.size(path)
        case .bytes(let data):
            body = .data(data)
            size = Int64(data.count)
        case .standardInput:
            let input = StandardInput()
            body = .stream(input, length: input.length)
            size = input.length
        }
    }

    /// The request's own fields first, then the authorization, then what `-H` says about them.
    static func request(for source: Source, _ options: Options) -> URLRequest {
        var request = URLRequest(url: source.url)
        request.httpMethod = options.method
        request.setValue("upload/\(HelpText.version)", forHTTPHeaderField: "User-Agent")
        if options.sendsJSON {
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.setValue("application/json", forHTTPHeaderField: "Accept")
        }
        if let authorization = options.authorization {
            request.setValue(authorization.fieldValue, forHTTPHeaderField: "Authorization")
        }
        var seen: Set<String> = []
        for field in options.headers {
            let isFirst = seen.insert(field.name.lowercased()).inserted
            if let value = field.value, !isFirst {
                request.addValue(value, forHTTPHeaderField: field.name)
            } else {
                request.setValue(field.value ?? Platform.valueOfRemovedField, forHTTPHeaderField: field.name)
            }
            // What comes after a removal begins anew.
            if field.value == nil { seen.remove(field.name.lowercased()) }
        }
        return request
    }
}
