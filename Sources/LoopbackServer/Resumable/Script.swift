import Foundation

/// Decides what goes wrong with a request; nil for nothing.
public typealias UploadScript = @Sendable (ScriptedRequest) -> Script?

/// A request as an ``UploadScript`` sees it, before its body is read.
public struct ScriptedRequest: Sendable {
    /// The request.
    public let request: ReceivedRequest
    /// The place among all requests of the scripted server, from 1.
    public let number: Int
    /// The place among those with the same method, from 1.
    public let numberOfMethod: Int
    /// The id of the upload that the request is about; nil when it is about none, or none that exists.
    public let uploadID: String?
    /// How many bytes of it are stored.
    public let offset: Int64?

    /// The method; with tus the one that `X-HTTP-Method-Override` names.
    public let method: String
    /// The request target, as sent.
    public var target: String { request.target }
    /// The first value of the header field called `name`, in any case.
    public func header(_ name: String) -> String? { request.header(name) }
}

/// What goes wrong with one request. An array literal of scripts is all of them together; of two that contradict each
/// other the first is followed.
public struct Script: Sendable, ExpressibleByArrayLiteral {
    enum Step: Sendable {
        case answer(Reply, afterBody: Bool)
        case cut(Cut)
        case keepOnly(Int64), claimOffset(Int64), truncate(Int64)
        case loseReply, forget, locked
        case location(String?), interimLocation(String?)
        case header(String, String?)
        case delay(Duration), delayReply(Duration)
        case shortBody(Int), cutReply(Int)
        case lateError(String)
    }

    private(set) var steps: [Step]

    private init(_ step: Step) {
        steps = [step]
    }

    /// All of `elements` together.
    public init(arrayLiteral elements: Script...) {
        steps = elements.flatMap(\.steps)
    }

    /// Answers like this and with nothing else.
    ///
    /// - Parameter afterBody: False to answer before the body is read, and do nothing with it; true to do all that the
    ///   request asks for before.
    public static func answer(
        _ status: Int,
        headers: [(String, String)] = [],
        body: String = "",
        afterBody: Bool = false
    ) -> Script {
        Script(.answer(Reply(status, headers, body: body), afterBody: afterBody))
    }

    /// Stores that many bytes of the body, or all if it has fewer, and closes the connection with a RST.
    public static func resetAfter(_ bytes: Int64) -> Script { Script(.cut(Cut(after: bytes, .reset))) }

    /// Stores that many bytes of the body, or all if it has fewer, and closes the connection.
    public static func closeAfter(_ bytes: Int64) -> Script { Script(.cut(Cut(after: bytes, .close))) }

    /// Stores that many bytes of the body, or all if it has fewer, drops the rest, and does not answer.
    public static func stallAfter(_ bytes: Int64) -> Script { Script(.cut(Cut(after: bytes, .stall))) }

    /// Stores no more than that many bytes of the body, drops the rest, and answers accordingly.
    public static func keepOnly(_ bytes: Int64) -> Script { Script(.keepOnly(bytes)) }

    /// Does all that the request asks for, and closes the connection with a RST in place of an answer.
    public static var loseReply: Script { Script(.loseReply) }

    /// Answers as if so many bytes were stored.
    public static func claimOffset(_ offset: Int64) -> Script { Script(.claimOffset(offset)) }

    /// Drops what is stored from there on, after the body was read and before the answer. Not possible where the
    /// store has only digests.
    public static func truncate(to offset: Int64) -> Script { Script(.truncate(offset)) }

    /// The upload is gone from this request on, or after it if it creates the upload.
    public static var forget: Script { Script(.forget) }

    /// Sends this as the new upload's `Location`, or none.
    public static func location(_ text: String?) -> Script { Script(.location(text)) }

    /// Sends this as `Location` in interim responses only, or none.
    public static func interimLocation(_ text: String?) -> Script { Script(.interimLocation(text)) }

    /// Sends this value for the header field called `name`, in addition or in place of the right one; none for nil.
    public static func header(_ name: String, _ value: String?) -> Script { Script(.header(name, value)) }

    /// Waits before anything is done.
    public static func delay(_ duration: Duration) -> Script { Script(.delay(duration)) }

    /// Waits when all is done, before the answer.
    public static func delayReply(_ duration: Duration) -> Script { Script(.delayReply(duration)) }

    /// Answers 423 and does nothing.
    public static var locked: Script { Script(.locked) }

    /// Sends the first bytes of the answer's body only, as if they were all.
    public static func shortBody(_ bytes: Int) -> Script { Script(.shortBody(bytes)) }

    /// Closes the connection after so many bytes of the answer, head and body.
    public static func cutReply(after bytes: Int) -> Script { Script(.cutReply(bytes)) }

    /// Fails with this code after the status 200 was sent; for the completion of a multipart upload to ``S3Server``
    /// only.
    public static func lateError(_ code: String) -> Script { Script(.lateError(code)) }
}

extension Script {
    private func first<Value>(_ value: (Step) -> Value?) -> Value? {
        for step in steps {
            if let value = value(step) { return value }
        }
        return nil
    }

    func answer(afterBody: Bool) -> Reply? {
        first { if case .answer(let reply, afterBody) = $0 { reply } else { nil } }
    }

    var cut: Cut? {
        first { if case .cut(let cut) = $0 { cut } else { nil } }
    }

    var keepOnly: Int64? { first { if case .keepOnly(let bytes) = $0 { bytes } else { nil } } }
    var claimedOffset: Int64? { first { if case .claimOffset(let offset) = $0 { offset } else { nil } } }
    var truncation: Int64? { first { if case .truncate(let offset) = $0 { offset } else { nil } } }
    var losesReply: Bool { first { if case .loseReply = $0 { true } else { nil } } ?? false }
    var forgets: Bool { first { if case .forget = $0 { true } else { nil } } ?? false }
    var isLocked: Bool { first { if case .locked = $0 { true } else { nil } } ?? false }
    var delay: Duration? { first { if case .delay(let duration) = $0 { duration } else { nil } } }
    var replyDelay: Duration? { first { if case .delayReply(let duration) = $0 { duration } else { nil } } }
    var shortBody: Int? { first { if case .shortBody(let bytes) = $0 { bytes } else { nil } } }
    var replyCut: Int? { first { if case .cutReply(let bytes) = $0 { bytes } else { nil } } }
    var lateError: String? { first { if case .lateError(let code) = $0 { code } else { nil } } }

    /// The `Location` to send where `text` would be right.
    func location(for text: String, interim: Bool = false) -> String? {
        let scripted: String??
        scripted = first { step in
            switch step {
            case .interimLocation(let text) where interim: .some(text)
            case .location(let text): .some(text)
            default: nil
            }
        }
        return scripted ?? text
    }

    /// `headers` with what the script has changed.
    func changed(_ headers: [(String, String)]) -> [(String, String)] {
        var headers = headers
        for case .header(let name, let value) in steps {
            headers.removeAll { isSame($0.0, name) }
            if let value { headers.append((name, value)) }
        }
        return headers
    }
}

/// How a request's body is cut off.
struct Cut: Error {
    enum Manner { case close, reset, stall }

    let after: Int64
    let manner: Manner

    init(after: Int64, _ manner: Manner) {
        self.after = after
        self.manner = manner
    }
}
