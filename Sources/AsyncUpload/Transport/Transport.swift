import Foundation

/// Sends one request and tells what comes of it. Redirects, challenges and statuses are not its business.
///
/// Nothing above this folder may know which transport is in use.
protocol Transport: Sendable {
    /// Starts an exchange.
    ///
    /// - Throws: `CancellationError` if the current task is cancelled already; nothing has been sent then.
    func send(_ outgoing: OutgoingRequest) async throws -> Transfer

    /// Whether the last count of bytes is all that has been handed over, however an exchange ends.
    var countsExactly: Bool { get }

    /// Lets go of every resource once the transfers that are under way have ended, and returns when that is done.
    /// Nothing may be sent afterwards.
    func shutDown() async
}

/// What a transport sends.
struct OutgoingRequest: Sendable {
    /// Method, URL and header fields. `Content-Length`, `Transfer-Encoding` and any body in it are the transport's.
    var request: URLRequest
    /// `nil` for a request without a body.
    var body: OpenBody?
    /// How many bytes of response body are taken in.
    var responseBodyLimit: Int
    /// How long things may take.
    var limits: TimeLimits
}

/// An exchange that is under way.
struct Transfer: Sendable {
    /// What happens, in order: byte counts and interim heads, then one final head, then data, then the end. The end
    /// without an error means that the response is complete. The body's bytes may still be counted after the head. What
    /// is known of the connection comes at most once, at any time before the end.
    ///
    /// What has happened at a time comes together, since to wake a reader costs more than most events.
    ///
    /// Fails with ``UploadError``. Ending the iteration early stops the exchange.
    let events: TransferEvents

    /// Opens when the library underneath has let go of the exchange, however it ended.
    let ended: Gate
}

/// Never gives an empty array.
typealias TransferEvents = AsyncThrowingStream<[TransferEvent], any Error>

enum TransferEvent: Sendable {
    /// So many bytes of the body have been handed over.
    case sent(Int64)
    /// They were all of it, unless the library begins anew.
    case bodyEnd
    /// A 1xx response.
    case interim(ResponseHead)
    /// The final response, without its body.
    case head(ResponseHead)
    /// The next piece of the response's body.
    case data(Data)
    /// The connection that the exchange used, the last one if it was begun anew. There is none where there was no
    /// connection, and where the library underneath tells nothing: `URLSession` on Linux.
    case connection(ConnectionFacts)
}
