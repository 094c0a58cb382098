import Foundation

@testable import AsyncUpload

/// A transport that plays scripts and keeps a log: each request gets the first script that is left for its path; when
/// there is none, it is answered with 200.
///
/// It stops at a ``Point`` until the test says go. When the driver ends the iteration of an exchange early, the
/// script is given up, and what holds it goes on by itself.
final class FakeTransport: Transport {
    /// A place in a script where the test decides when it goes on.
    final class Point: Sendable {
        let reached = Gate()
        let go = Gate()

        func pass() async {
            reached.open()
            await go.wait()
        }
    }

    enum Step: Sendable {
        case sent(Int64)
        case sentAll
        case interim(Int)
        case head(Int, [String: String] = [:])
        case data(String)
        case connection(ConnectionFacts)
        case hold(Point)
        case fail(any Error)
    }

    struct Script: Sendable {
        var steps: [Step]
        /// The path of the request that it is for; `nil` for any.
        var path: String?
        /// Where `send` is held before it returns.
        var connecting: Point?
        /// Where the exchange is held between the end of its events and `ended`.
        var ending: Point?
        /// Whether the rest is played even when nobody listens any more.
        var playsOnWhenStopped = false

        static let accepting = Script(steps: [.sentAll, .head(200)])

        fileprivate func letGo() {
            for case .hold(let point) in steps { point.go.open() }
        }
    }

    /// A request as it arrived.
    struct Received: Sendable {
        let request: URLRequest
        /// `nil` for a request without a body.
        let body: Data?
        let responseBodyLimit: Int

        var path: String { request.url?.path ?? "" }
    }

    private struct State {
        var scripts: [Script]
        var received: [Received] = []
        var log: [String] = []
        var stopped: Set<Int> = []

        mutating func takeScript(for path: String) -> Script {
            guard let index = scripts.firstIndex(where: { $0.path ?? path == path }) else { return .accepting }
            return scripts.remove(at: index)
        }
    }

    private let state: Locked<State>

    init(_ scripts: [Script] = []) {
        state = Locked(State(scripts: scripts))
    }

    convenience init(_ scripts: [Step]...) {
        self.init(scripts.map { Script(steps: $0) })
    }

    /// What was sent.
    var received: [Received] { state.withLock { $0.received } }

    /// What happened, in order: `send`, `stop` and `ended`, each with the path of the request, and `shutDown`.
    var log: [String] { state.withLock { $0.log } }

    let countsExactly = true

    func send(_ outgoing: OutgoingRequest) async throws -> Transfer {
        try Task.checkCancellation()
        let body: Data? = if let body = outgoing.body { try await Self.bytes(of: body) } else { nil }
        let received = Received(
            request: outgoing.request,
            body: body,
            responseBodyLimit: outgoing.responseBodyLimit
        )
        let (number, script) = state.withLock { state in
            state.received.append(received)
            state.log.append("send \(received.path)")
            return (state.received.count - 1, state.takeScript(for: received.path))
        }
        await script.connecting?.pass()
        let (events, continuation) = TransferEvents.makeStream()
        let ended = Gate()
        continuation.onTermination = { [weak self] reason in
            guard case .cancelled = reason else { return }
            self?.stop(number, received.path)
            if !script.playsOnWhenStopped { script.letGo() }
        }
        Task {
            await self.play(script, number, received, into: continuation)
            await script.ending?.pass()
            self.state.withLock { $0.log.append("ended \(received.path)") }
            ended.open()
        }
        return Transfer(events: events, ended: ended)
    }

    func shutDown() async {
        state.withLock { $0.log.append("shutDown") }
    }

    private func stop(_ number: Int, _ path: String) {
        state.withLock { state in
            state.stopped.insert(number)
            state.log.append("stop \(path)")
        }
    }

    private func play(
        _ script: Script,
        _ number: Int,
        _ received: Received,
        into continuation: TransferEvents.Continuation
    ) async {
        for step in script.steps {
            if case .hold(let point) = step { await point.pass() }
            let isStopped = state.withLock { $0.stopped.contains(number) }
            if isStopped, !script.playsOnWhenStopped { break }
            switch step {
            case .hold: break
            case .sent(let count): Self.send(count, of: received, into: continuation)
            case .sentAll: Self.send(Int64(received.body?.count ?? 0), of: received, into: continuation)
            case .interim(let status): continuation.yield([.interim(Self.head(status, [:], of: received))])
            case .head(let status, let fields): continuation.yield([.head(Self.head(status, fields, of: received))])
            case .data(let text): continuation.yield([.data(Data(text.utf8))])
            case .connection(let facts): continuation.yield([.connection(facts)])
            case .fail(let error): continuation.finish(throwing: error)
            }
        }
        continuation.finish()
    }

    private static func send(
        _ count: Int64,
        of received: Received,
        into continuation: TransferEvents.Continuation
    ) {
        continuation.yield([.sent(count)])
        if count == received.body?.count ?? 0 { continuation.yield([.bodyEnd]) }
    }

    private static func head(_ status: Int, _ fields: [String: String], of received: Received) -> ResponseHead {
        AsyncUploadTests.head(status, fields, from: received.request.url?.absoluteString ?? "")
    }

    /// Reads a body as a transport does: piece by piece, to its end.
    private static func bytes(of body: OpenBody) async throws -> Data {
        let source: any BodySource =
            switch body {
            case .source(let source): source
            case .stream(let stream): try await stream.spooled(keepingName: false, within: .seconds(10))
            }
        var bytes = Data()
        var piece = Data(count: 1000)
        while true {
            let count = try piece.withUnsafeMutableBytes { try source.read(into: $0, at: Int64(bytes.count)) }
            guard count > 0 else { return bytes }
            bytes += piece.prefix(count)
        }
    }
}
