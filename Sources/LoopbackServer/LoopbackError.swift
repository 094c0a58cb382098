import Foundation

/// What goes wrong in a ``LoopbackServer`` and in its handlers' calls.
public enum LoopbackError: Error, Sendable, CustomStringConvertible {
    /// The peer closed or reset the connection, or the handler itself did.
    case peerClosed
    /// The server was stopped.
    case stopped
    /// What the peer sent is not a body as its head announced it.
    case malformed(String)
    /// The condition did not come true in time; the text tells the server's state at that moment.
    case timedOut(String)
    /// A system call failed.
    case system(call: String, errno: Int32)

    /// The error in words.
    public var description: String {
        switch self {
        case .peerClosed: "the connection is closed"
        case .stopped: "the server was stopped"
        case .malformed(let what): "malformed body: \(what)"
        case .timedOut(let state): "timed out; \(state)"
        case .system(let call, let number): "\(call) failed with errno \(number)"
        }
    }

    static func lastSystemError(_ call: String) -> LoopbackError {
        .system(call: call, errno: errno)
    }
}
