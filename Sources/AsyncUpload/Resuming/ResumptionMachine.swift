import Foundation

/// The requests of one resumable upload, as its protocol wants them: answers go in, the next request comes out.
///
/// Pure: no clock, no network, no file. Whoever runs it asks for steps until there is one to wait for, and hands in what has
/// come of each. The steps in flight have different identifiers; a protocol that sends one thing at a time uses one.
protocol ResumptionMachine: Sendable {
    /// What is to be done now.
    ///
    /// A step is given once. After a ``ResumptionVerdict/retry(_:)`` or ``ResumptionVerdict/fail(_:)`` that step, or what
    /// takes its place, is not given before ``resume(_:)``; others may be.
    mutating func next() -> ResumptionStep

    /// Takes in what has come of a step.
    ///
    /// - Parameter bytesSent: how many bytes of the step's body were handed over; the server cannot have more of them.
    mutating func receive(_ outcome: ResumptionOutcome, bytesSent: Int64, for identifier: Int) -> ResumptionVerdict

    /// Takes in an interim response to a step that is in flight.
    mutating func receiveInterim(_ head: ResponseHead, for identifier: Int)

    /// The wait after a failure is over.
    mutating func resume(_ identifier: Int)

    /// Everything that was in flight has been given up, and nothing is known of what the server has of it.
    ///
    /// - Parameter bytesSent: how many bytes of each step's body were handed over.
    mutating func interrupt(bytesSent: [Int: Int64])

    /// What another process needs to go on; `nil` while there is nothing to go on with, and after the end.
    var state: ResumptionState? { get }

    /// How many bytes of the body the server is known to have.
    var confirmedByteCount: Int64 { get }

    /// The request that removes what the server has of the upload; `nil` while that is nothing.
    ///
    /// It is done when answered by 2xx, or by a status in ``ResumptionRequest/removedStatusCodes``.
    var removal: ResumptionRequest? { get }

    /// The same where it takes several.
    var removals: [ResumptionRequest] { get }
}

extension ResumptionMachine {
    mutating func receiveInterim(_ head: ResponseHead, for identifier: Int) {}

    var removals: [ResumptionRequest] { removal.map { [$0] } ?? [] }
}

/// What a machine wants to be done.
enum ResumptionStep: Sendable {
    /// The bytes of a body whose length is not known are to be made ready: so many of them, or up to its end. What was made ready
    /// before need not be kept. The outcome is ``ResumptionOutcome/ready(_:isEnd:)``.
    case read(identifier: Int, from: Int64, count: Int)
    case send(ResumptionRequest)
    /// The app is to be asked for something. The outcome is ``ResumptionOutcome/answer(_:)``.
    case ask(identifier: Int, @Sendable () async throws -> String)
    /// Nothing more, before something has come of what is in flight.
    case wait
    /// The upload is complete, and that is the response to it.
    case finish(ResponseHead, Data)
    /// The upload cannot be done, and nothing helps against that.
    case fail(UploadError)
}

/// A request of a resumable upload.
struct ResumptionRequest: Sendable {
    enum Body: Sendable {
        /// None, and no `Content-Length`.
        case none
        /// Something that is no part of the upload's body; may be empty.
        case data(Data)
        /// A part of the upload's body; may be empty.
        case part(Range<Int64>)
    }

    var identifier = 0
    /// Asked for just before the request is sent, each time.
    var makeRequest: @Sendable () async throws -> URLRequest
    var body = Body.none
    /// Whether the app is asked for it.
    private(set) var isAsked = false

    init(identifier: Int = 0, _ request: URLRequest, _ body: Body = .none) {
        self.identifier = identifier
        self.body = body
        makeRequest = { request }
    }

    init(identifier: Int = 0, asking makeRequest: @escaping @Sendable () async throws -> URLRequest, _ body: Body) {
        self.identifier = identifier
        self.makeRequest = makeRequest
        self.body = body
        isAsked = true
    }
}

/// What has come of a step.
enum ResumptionOutcome: Sendable {
    /// A final response, whatever its status.
    case response(ResponseHead, Data)
    /// No response.
    case failure(UploadError)
    /// What the app says.
    case answer(String)
    /// The bytes up to `end` are ready.
    case ready(end: Int64, isEnd: Bool)
}

/// What an outcome means for the upload.
enum ResumptionVerdict: Sendable {
    /// There is a next step.
    case proceed
    /// The upload goes on after a wait, if ``RetryPolicy`` allows for one.
    case retry(UploadError)
    /// The upload has failed, unless an interceptor does something about it: then the step is repeated.
    case fail(UploadError)
}

/// What of a resumable upload outlives its process: see ``UploadCheckpoint``.
struct ResumptionState: Sendable, Hashable, Codable {
    /// One of several pieces that are sent on their own.
    struct Part: Sendable, Hashable, Codable {
        /// What it is called at the server, character for character.
        var location: String?
        /// The entity tag that the server has given it, with its quotes.
        var entityTag: String?
    }

    /// What the upload is called at the server: a URL or an identifier, character for character.
    var location: String?
    /// How large the parts are, in bytes.
    var partSize: Int64?
    /// How large parts are at most that grow with their number.
    var partSizeLimit: Int64?
    /// By number.
    var parts: [Int: Part] = [:]
    /// When the server forgets the upload.
    var expiration: Date?
}
