import Foundation

/// A stream that one upload sends, possibly more than once.
final class BodyStream: Sendable {
    private let recipe: StreamRecipe
    private let spool = Locked<(any BodySource)?>(nil)

    init(_ recipe: StreamRecipe) {
        self.recipe = recipe
    }

    /// In bytes; `nil` when it is not known beforehand.
    var length: Int64? { recipe.length }

    /// Whether it has been read and cannot be read again.
    var isSpent: Bool { recipe.isSpent && spool.withLock { $0 == nil } }

    /// Whether it can be read any number of times.
    var isReplayable: Bool { recipe.isReplayable }

    /// How the bytes are made, from the first one; see ``StreamRecipe/begin()``.
    func begin() throws -> StreamRecipe.Production {
        try recipe.begin()
    }

    /// Begins to make the bytes, from the first one.
    ///
    /// - Parameter onReadable: see ``BodyPipe``.
    /// - Throws: ``UploadError/Code-swift.struct/bodyNotReplayable``.
    func start(onReadable: @escaping @Sendable () -> Void) throws -> BodyPipe {
        BodyPipe(length: length, production: try recipe.begin(), onReadable: onReadable)
    }

    /// Puts all of it into a temporary file, unless that has been done already.
    ///
    /// Memory does not grow with it. Cancelling the current task cancels the production and does not wait for it.
    ///
    /// - Parameters:
    ///   - keepingName: whether the file has a name for as long as the source exists; otherwise not even a process that is
    ///     killed leaves it behind.
    ///   - limit: how long that may take.
    /// - Throws: ``UploadError`` or `CancellationError`.
    func spooled(keepingName: Bool, within limit: Duration) async throws -> any BodySource {
        if let source = spool.withLock({ $0 }) { return source }
        let production = try recipe.begin()
        let file = try TemporaryFile(keepingName: keepingName, length: length)
        let timeout = UploadError(.timedOut, detail: "the end of the stream was not reached")
        let source = try await waiting(atMost: limit, orThrowing: timeout) {
            do {
                try await production(file)
                return try file.finish()
            } catch {
                throw UploadError.producing(error)
            }
        }
        spool.withLock { $0 = source }
        return source
    }
}
