import Foundation

/// The body of a resumable upload: any part of it can be had again.
///
/// Of a stream only the part that was read last is kept; see ``StreamWindow``.
final class ResumableBody: Sendable {
    private let reopen: @Sendable () throws -> OpenBody
    private let source = Locked<(any BodySource)?>(nil)
    private let window: StreamWindow?
    /// In bytes; `nil` when it is not known beforehand.
    let length: Int64?
    /// Its files as they were when it was opened first.
    let files: [FileStatus]

    /// - Parameter reopen: gives the body once more.
    init(_ body: OpenBody, reopen: @escaping @Sendable () throws -> OpenBody) {
        self.reopen = reopen
        (length, files) = (body.length, body.files)
        switch body {
        case .source(let opened):
            window = nil
            if case .file(let url) = opened.contents {
                filePath = url.standardizedFileURL.path
            } else {
                filePath = nil
            }
            source.withLock { $0 = opened }
        case .stream(let stream):
            window = StreamWindow(stream)
            filePath = nil
        }
    }

    /// The path of the file that is the body, if it is one.
    let filePath: String?

    /// Whether only a part of it can be in memory at a time, and nowhere else.
    var isStream: Bool { window != nil }

    /// Closes what is not needed in a wait.
    func rest() {
        source.withLock { $0 = nil }
    }

    /// Nothing more will be asked for.
    func close() async {
        rest()
        await window?.close()
    }

    /// Makes bytes ready whose number is not known; see ``StreamWindow/load(from:count:)``.
    func load(from offset: Int64, count: Int) async throws -> (end: Int64, isEnd: Bool) {
        guard let window else { return (length ?? 0, true) }
        return try await window.load(from: offset, count: count)
    }

    /// A part of the body.
    func part(_ range: Range<Int64>) async throws -> any BodySource {
        if let window { return try await window.part(range) }
        return SlicedBodySource.slice(try opened(), range)
    }

    private func opened() throws -> any BodySource {
        try source.withLock { source in
            if let source { return source }
            guard case .source(let opened) = try reopen() else { throw UploadError(.bodyNotReplayable) }
            guard opened.files == files, opened.length == length else {
                throw UploadError(.fileChanged, detail: "since it was sent last")
            }
            source = opened
            return opened
        }
    }
}
