/// A body that is about to be sent: one that can be read anywhere at any time, or one that comes as it is made.
enum OpenBody: Sendable {
    case source(any BodySource)
    case stream(BodyStream)

    /// In bytes; `nil` when it is not known beforehand.
    var length: Int64? {
        switch self {
        case .source(let source): source.length
        case .stream(let stream): stream.length
        }
    }

    /// The files that must be the same when it is opened again.
    var files: [FileStatus] {
        switch self {
        case .source(let source): source.files
        case .stream: []
        }
    }

    /// What is kept of it while it is not needed: nothing that could be opened again.
    var resting: OpenBody? {
        switch self {
        case .source: nil
        case .stream: self
        }
    }

    /// Whether it has been sent, in part at least, and cannot be sent again.
    var isSpent: Bool {
        switch self {
        case .source: false
        case .stream(let stream): stream.isSpent
        }
    }
}
