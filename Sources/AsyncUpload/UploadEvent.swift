public import Foundation

/// What an upload reports while it runs.
///
/// An upload yields any number of ``progress(_:)`` events, the first at once, and then exactly one
/// ``response(_:)``, which is always the last event. An upload that fails throws instead: a stream that
/// ends without throwing has delivered a response.
public enum UploadEvent: Sendable, Equatable {
    /// The fraction of the body that has been handed over to the network, in `0...1`; it never decreases.
    case progress(Double)

    /// The body of the accepted response; `nil` when it is empty.
    case response(Data?)
}
