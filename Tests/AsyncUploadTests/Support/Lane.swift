import Foundation
import LoopbackServer
import Testing

@testable import AsyncUpload

/// A server, a folder and the ways to send, with one attempt unless told otherwise: what a test over the wire starts from.
struct Lane {
    let server: LoopbackServer
    let scratch: ScratchFolder
    let uploader: Uploader

    init(
        _ carrier: Carrier = .underTest,
        receiveBufferSize: Int? = nil,
        configure: (inout Uploader.Configuration) -> Void = { _ in }
    ) throws {
        server = try LoopbackServer(receiveBufferSize: receiveBufferSize)
        scratch = try ScratchFolder()
        uploader = Uploader(carrier, configure)
    }

    func request(_ path: String, method: String = "PUT") -> URLRequest {
        URLRequest(url: server.url(path), method: method)
    }

    /// Sends `data` as a body of the given kind and watches.
    func upload(
        _ data: Data,
        as kind: BodyKind,
        to path: String,
        method: String = "PUT",
        sourceLocation: SourceLocation = #_sourceLocation,
        onEvent: (UploadEvent) async throws -> Void = { _ in }
    ) async throws -> Observation {
        let events = uploader.upload(for: request(path, method: method), from: try kind.body(data, in: scratch))
        return await Observation(events, sourceLocation: sourceLocation, onEvent: onEvent)
    }
}

extension URLRequest {
    init(url: URL, method: String) {
        self.init(url: url)
        httpMethod = method
    }
}

extension Uploader {
    convenience init(_ carrier: Carrier, _ configure: (inout Configuration) -> Void = { _ in }) {
        var configuration = Configuration()
        configuration.retry = .none
        configure(&configuration)
        let options = configuration.transportOptions
        self.init(configuration: configuration) { carrier.makeTransport(options) }
    }
}

/// Tests that use the network, one after the other, so that what one measures is not what another does.
@Suite(.serialized, .timeLimit(.minutes(5))) struct OverTheWire {}
