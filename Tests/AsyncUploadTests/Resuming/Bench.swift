import Foundation
import Testing

@testable import AsyncUpload

/// Drives a machine by hand.
final class Bench<Machine: ResumptionMachine> {
    var machine: Machine

    init(_ machine: Machine) {
        self.machine = machine
    }

    func next() -> ResumptionStep { machine.next() }

    /// The request that is to be sent now.
    func request(_ location: SourceLocation = #_sourceLocation) async throws -> Sent {
        let step = machine.next()
        guard case .send(let request) = step else {
            throw Unexpected(text: "\(step) instead of a request, at \(location)")
        }
        return Sent(identifier: request.identifier, request: try await request.makeRequest(), body: request.body)
    }

    /// Hands in a response to a request all of whose body was sent, unless said otherwise.
    @discardableResult
    func answer(
        _ sent: Sent,
        _ status: Int,
        _ fields: [String: String] = [:],
        _ body: String = "",
        bytesSent: Int64? = nil
    ) -> ResumptionVerdict {
        let outcome = ResumptionOutcome.response(
            head(status, fields, from: sent.request.url?.absoluteString ?? ""),
            Data(body.utf8)
        )
        return machine.receive(outcome, bytesSent: bytesSent ?? sent.count, for: sent.identifier)
    }

    @discardableResult
    func fail(_ sent: Sent, _ code: UploadError.Code, bytesSent: Int64 = 0) -> ResumptionVerdict {
        machine.receive(.failure(UploadError(code)), bytesSent: bytesSent, for: sent.identifier)
    }

    /// What is to be read now; it is ready if `end` is given.
    func read(to end: Int64? = nil, isEnd: Bool = false) throws -> Reading {
        let step = machine.next()
        guard case .read(let identifier, let start, let count) = step else { throw Unexpected(text: "\(step)") }
        let verdict = end.map { end in
            machine.receive(.ready(end: end, isEnd: isEnd), bytesSent: 0, for: identifier)
        }
        return Reading(identifier: identifier, start: start, count: count, verdict: verdict)
    }

    /// Answers the question that is to be asked now.
    @discardableResult
    func reply(_ text: String) throws -> ResumptionVerdict {
        machine.receive(.answer(text), bytesSent: 0, for: try question())
    }

    func question() throws -> Int {
        let step = machine.next()
        guard case .ask(let identifier, _) = step else { throw Unexpected(text: "\(step)") }
        return identifier
    }

    var isWaiting: Bool {
        if case .wait = machine.next() { true } else { false }
    }

    /// The status of the response that the upload has ended with.
    var finalStatus: Int? {
        if case .finish(let head, _) = machine.next() { head.statusCode } else { nil }
    }

    /// Why the upload cannot be done.
    var failure: UploadError? {
        if case .fail(let error) = machine.next() { error } else { nil }
    }
}

struct Unexpected: Error {
    let text: String
}

struct Reading {
    let identifier: Int
    let start: Int64
    let count: Int
    let verdict: ResumptionVerdict?
}

/// A request that a machine has given.
struct Sent {
    let identifier: Int
    let request: URLRequest
    let body: ResumptionRequest.Body

    subscript(field: String) -> String? { request.value(forHTTPHeaderField: field) }
    var method: String? { request.httpMethod }
    var address: String? { request.url?.absoluteString }

    /// What of the upload's body it carries.
    var part: Range<Int64>? {
        if case .part(let part) = body { part } else { nil }
    }

    /// What it carries that is not of the upload's body.
    var data: Data? {
        if case .data(let data) = body { data } else { nil }
    }

    var count: Int64 { part.map { $0.upperBound - $0.lowerBound } ?? Int64(data?.count ?? 0) }
}

extension ResumptionVerdict {
    var isProceed: Bool {
        if case .proceed = self { true } else { false }
    }

    /// Why there is a wait.
    var retried: UploadError? {
        if case .retry(let error) = self { error } else { nil }
    }

    /// Why the upload has failed.
    var failed: UploadError? {
        if case .fail(let error) = self { error } else { nil }
    }
}
