import Foundation

/// How `URLSession` gets at the bytes of a body.
enum BodyStrategy: Sendable, CaseIterable {
    /// A streamed request that reads the body through a stream of our own. Made for FoundationNetworking, whose file
    /// tasks are slow and whose data tasks copy; elsewhere `URLSession` does not support streams of other classes.
    case streamed
    /// `URLSession`'s own file and data tasks.
    case native

    static let platformDefault: BodyStrategy = Platform.usesFoundationNetworking ? .streamed : .native

    /// In seconds, and short of what the conversions underneath can hold. Idleness is watched by ``SessionDelegate``, to
    /// the fraction of a second; FoundationNetworking makes a new timer of its own for each 64 KiB it sends.
    private static let noTimeout: TimeInterval = Platform.usesFoundationNetworking ? 1e15 : 1e7

    /// Whether a file has to have a name to be sent.
    var needsFileNames: Bool { self == .native }

    /// Whether a body has to be put into a file before it can be sent.
    func needsFile(for source: any BodySource) -> Bool {
        if case .composite = source.contents { self == .native } else { false }
    }

    /// - Parameter body: what to send; the request's own is not looked at.
    func makeTask(
        for outgoing: OutgoingRequest,
        _ body: (any BodySource)?,
        in session: URLSession
    ) -> URLSessionTask {
        var request = outgoing.request
        request.httpBody = nil
        request.timeoutInterval = Self.noTimeout
        guard let body else { return session.dataTask(with: request) }
        if Platform.usesFoundationNetworking { Self.suppressAddedFields(&request) }
        switch (self, body.contents) {
        // The second does not occur: see ``needsFile(for:)``.
        case (.streamed, _), (.native, .composite):
            request.setValue(String(body.length), forHTTPHeaderField: "Content-Length")
            return session.uploadTask(withStreamedRequest: request)
        case (.native, .data(let data)):
            return session.uploadTask(with: request, from: data)
        case (.native, .file(let url)):
            return session.uploadTask(with: request, fromFile: url)
        }
    }

    /// Keeps FoundationNetworking from adding what nobody asked for.
    ///
    /// A field whose value is a single space is dropped by libcurl: chunked coding, which it would announce beside
    /// the length, the `Expect` that costs a second with servers that ignore it, and the type of a form.
    private static func suppressAddedFields(_ request: inout URLRequest) {
        request.setValue(" ", forHTTPHeaderField: "Transfer-Encoding")
        for name in ["Expect", "Content-Type"] where request.value(forHTTPHeaderField: name) == nil {
            request.setValue(" ", forHTTPHeaderField: name)
        }
    }
}
