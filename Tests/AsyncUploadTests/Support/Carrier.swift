import Foundation
import Testing

@testable import AsyncUpload

/// The ways in which uploads are carried, each of which keeps the same promises.
enum Carrier: String, CaseIterable, Codable, CustomTestStringConvertible {
    /// What the platform uses by itself: libcurl on Linux.
    case automatic
    /// `URLSession` with a stream of ours, for Linux.
    case streamed
    /// `URLSession` with its own file and data tasks, for other platforms.
    case native

    var testDescription: String { rawValue }

    /// What the tests use unless they say otherwise; the environment may name another one.
    static let underTest: Carrier =
        ProcessInfo.processInfo.environment["ASYNCUPLOAD_TEST_CARRIER"].flatMap(Carrier.init) ?? .automatic

    func makeTransport(_ options: TransportOptions) -> any Transport {
        switch self {
        case .automatic: Uploader.TransportChoice.automatic.makeTransport(options)
        case .streamed: URLSessionTransport(options, strategy: .streamed)
        case .native: URLSessionTransport(options, strategy: .native)
        }
    }
}
