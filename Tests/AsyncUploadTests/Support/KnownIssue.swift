import Testing

/// What cannot be made right with the `URLSession` of swift-corelibs-foundation (6.3), each with its reason. It is not used
/// on Linux unless asked for.
///
/// The list is part of the documentation too: see the article "Linux" in the documentation catalog.
enum KnownIssue: String, CaseIterable {
    /// C32
    case headCutShort = """
        A connection that is closed inside the response's head ends the process: the parser traps. It cannot be caught.
        """
    /// Like C32
    case trailerField = """
        A trailer field after a chunked body ends the process, too.
        """
    /// C33
    case headRejected = """
        A head without a reason phrase, without a space after a colon or with Latin-1 bytes is rejected, though the \
        server has stored the body. It is reported as unreadable and never taken for a failure to send.
        """
    /// C31 (a)
    case answerLostInReset = """
        A server that answers early and closes at once with the body unread resets the connection; the session may then \
        see the broken connection before it has read the answer.
        """
    /// The native strategy, which is for other platforms, only.
    case nativeFileEndsEarly = """
        URLSession's own file task may end the process when its exchange ends before the file is through (cancelled, \
        refused, redirected): a read that is still under way resumes a transfer that is gone. It is not used on Linux.
        """
    /// The native strategy, too.
    case nativeRepeatsPart = """
        Where a connection breaks that was used before, URLSession's own task sends its request once more by itself, with \
        the whole body. A server that has acted on the first one may refuse a part of a resumable upload then.
        """

    /// Runs checks that fail because of this.
    func occurs(sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void) async {
        await withKnownIssue("\(rawValue)", sourceLocation: sourceLocation) { try await body() }
    }

    /// Runs checks that may fail because of this.
    func mayOccur(sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void) async {
        await withKnownIssue("\(rawValue)", isIntermittent: true, sourceLocation: sourceLocation) { try await body() }
    }
}
