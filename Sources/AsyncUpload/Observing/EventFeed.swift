import Foundation

/// Uploads that send nothing: how far they are is told from outside, as a library's callback tells it to a transport. What
/// an event costs can be measured with it, without what a network costs.
package final class EventFeed: Sendable {
    /// The uploads. Their numbers are not those of ``didSend(_:of:)``.
    package let tasks: [UploadTask]
    private let transport: FeedTransport
    private let uploader: Uploader

    /// Begins uploads, and returns when all of them can be told of progress.
    ///
    /// - Parameters:
    ///   - count: how many.
    ///   - bodyLength: how many bytes each of them is to send.
    package init(count: Int, bodyLength: Int) async {
        let transport = FeedTransport(expecting: count)
        self.transport = transport
        var configuration = Uploader.Configuration()
        configuration.maximumUploadsInFlight = count
        let uploader = Uploader(configuration: configuration) { transport }
        self.uploader = uploader
        let body = UploadBody.data(Data(count: bodyLength))
        tasks =
            URL(string: "http://localhost/").map { url in
                var request = URLRequest(url: url)
                request.httpMethod = "PUT"
                return (0..<count).map { [request] _ in uploader.task(for: request, from: body) }
            } ?? []
        await transport.isComplete.wait()
    }

    /// Tells one of the uploads that so many of its bytes have been handed over.
    ///
    /// - Parameter number: counts from 0.
    package func didSend(_ bytes: Int, of number: Int) {
        transport.didSend(Int64(bytes), of: number)
    }

    /// Has every upload succeed, and returns when all have ended.
    package func end() async {
        transport.end()
        await uploader.shutDown()
    }
}

/// Takes uploads in, and does with them what it is told.
private final class FeedTransport: Transport {
    private struct Exchange {
        var machine: TransferMachine
        let continuation: TransferEvents.Continuation
        let ended: Gate

        mutating func perform(_ change: (inout TransferMachine) -> TransferMachine.Effects) {
            let events = change(&machine).events
            if !events.isEmpty { continuation.yield(events) }
        }
    }

    let isComplete = Gate()
    let countsExactly = true
    private let count: Int
    private let exchanges = Locked<[Exchange]>([])

    init(expecting count: Int) {
        self.count = count
    }

    func send(_ outgoing: OutgoingRequest) async throws -> Transfer {
        let (events, continuation) = TransferEvents.makeStream()
        let exchange = Exchange(
            machine: TransferMachine(outgoing, at: .now),
            continuation: continuation,
            ended: Gate()
        )
        let isLast = exchanges.withLock { exchanges in
            exchanges.append(exchange)
            return exchanges.count == count
        }
        if isLast { isComplete.open() }
        return Transfer(events: events, ended: exchange.ended)
    }

    func didSend(_ bytes: Int64, of number: Int) {
        exchanges.withLock { $0[number].perform { $0.didSend(bytes, at: .now) } }
    }

    func end() {
        exchanges.withLock { exchanges in
            for index in exchanges.indices {
                exchanges[index].perform { $0.didSend(.max, at: .now) }
                exchanges[index].perform { $0.didReceive(ResponseHead(url: nil, statusCode: 200), at: .now) }
                exchanges[index].continuation.finish()
                exchanges[index].ended.open()
            }
        }
    }

    func shutDown() async {}
}
