import AsyncUpload
import Foundation

/// One upload, ready to be started.
struct Job: Sendable {
    let label: String
    var request: URLRequest
    let body: UploadBody
    /// As far as it is known beforehand; for the bar only.
    let size: Int64?
    /// How much it is, in words.
    let extent: String
    /// `nil` for an upload that begins anew when it was interrupted.
    let resuming: ResumableProtocol?

    init(
        _ source: Source,
        _ payload: Payload,
        _ options: Options,
        label: String? = nil,
        resuming: ResumableProtocol? = nil
    ) {
        self.resuming = resuming
        self.label = label ?? source.label
        request = Self.request(for: source, options)
        body = payload.body
        size = payload.size
        extent = payload.extent
    }

    /// The request's own fields first, then the authorization, then what `-H` says about them.
    static func request(for source: Source, _ options: Options) -> URLRequest {
        var request = URLRequest(url: source.url)
        request.httpMethod = options.method
        request.setValue("upload/\(HelpText.version)", forHTTPHeaderField: "User-Agent")
        if let type = options.contentType { request.setValue(type, forHTTPHeaderField: "Content-Type") }
        if options.sendsJSON { request.setValue(Options.jsonType, forHTTPHeaderField: "Accept") }
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
