import Foundation

/// What a contestant has to do: the same for all that are compared.
struct Job: Codable, Hashable {
    enum Body: String, Codable {
        /// A file, as it is.
        case file
        /// Bytes in memory.
        case data
        /// A form with the file in one of its fields.
        case form
        /// Bytes that come one after the other, and nobody knows how many.
        case stream
    }

    enum Reading: String, Codable {
        /// Nobody looks at events; the response is awaited.
        case response
        /// Every event is read.
        case events
        /// Events are read by somebody who takes 10 ms for each.
        case slowly
    }

    var body = Body.file
    /// Of the file or the data, without what a form adds.
    var byteCount: Int
    var uploadCount = 1
    /// How many uploads are under way at a time.
    var width = 1
    /// Whether all are begun at once, and wait for their turn.
    var isQueued = false
    var reading = Reading.response
    /// `tus` or `ietf` for a resumable upload.
    var resuming: String?
    /// The certificate of the server, when it is reached through TLS.
    var authority: String?

    /// How many files are made: the uploads share large ones.
    var fileCount: Int {
        byteCount > 100_000 ? min(uploadCount, 8) : uploadCount
    }

    /// Whether a server that has received so many bytes in a request has received what it should.
    func accepts(_ count: Int64) -> Bool {
        switch body {
        case .file, .data, .stream: count == byteCount
        // Nobody frames a field with more than that.
        case .form: (1...1024).contains(count - Int64(byteCount))
        }
    }

    /// Calls `send` with a number below ``fileCount``, as often as there are uploads and so many at a time as wanted.
    ///
    /// Nothing is cancelled when one fails: Foundation might not come to an end then. The others are waited for.
    func run(_ send: @escaping @Sendable (Int) async throws -> Void) async throws {
        let failure = await withTaskGroup(of: (any Error)?.self) { group -> (any Error)? in
            for index in 0..<uploadCount {
                if !isQueued, index >= width, let error = await group.next() ?? nil { return error }
                let file = index % fileCount
                group.addTask { await Self.error(of: { try await send(file) }) }
            }
            for await case let error? in group { return error }
            return nil
        }
        if let failure { throw failure }
    }

    private static func error(of work: () async throws -> Void) async -> (any Error)? {
        do {
            try await work()
            return nil
        } catch {
            return error
        }
    }
}
