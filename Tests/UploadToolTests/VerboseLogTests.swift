import AsyncUpload
import Foundation
import Testing

@testable import upload

@Suite struct VerboseLogTests {
    private let secret = URL(string: "http://me:pw@h:81/a%20b?token=secret#part")
    private let job: Job

    init() throws {
        let source = Source(content: .bytes(Data("{}".utf8)), url: try #require(secret))
        job = Job(source, .bytes(Data("{}".utf8)), Options(), label: "a\nb")
    }

    private func line(_ event: UploadActivity.Event, number: Int = 1) -> String? {
        VerboseLog.line(event, label: "f", number: number)
    }

    @Test func start() {
        #expect(VerboseLog.start(job) == "> PUT http://h:81/a%20b?... (a\\nb, 2 bytes)")
    }

    @Test func requests() {
        var transaction = UploadMetrics.Transaction(
            url: secret,
            start: .seconds(1),
            end: .milliseconds(2250),
            bytesSent: 5,
            statusCode: 503,
            isReusedConnection: true,
            networkProtocolName: "http/1.1",
            remoteAddress: "::1"
        )
        #expect(
            line(.transaction(transaction), number: 2) == "* f: request 2 to http://h:81/a%20b?...: 503, "
                + "sent 5 bytes in 1.250 s (http/1.1, ::1, same connection)"
        )
        transaction = .init(url: URL(string: "http://h/x"), errorCode: .cannotConnect)
        let start = "* f: request 1 to http://h/x: "
        #expect(line(.transaction(transaction)) == start + "no connection, sent 0 bytes in 0.000 s")
        transaction.errorCode = nil
        #expect(line(.transaction(transaction))?.contains(": stopped, ") == true)
    }

    @Test func waits() {
        let refusal = UploadError(.unacceptableStatus, response: UploadResponse(statusCode: 503))
        #expect(line(.wait(.milliseconds(379), after: refusal)) == "* f: retrying in 0.379 s (503)")
        #expect(line(.wait(.zero, after: UploadError(.stalled, detail: "x"))) == "* f: retrying in 0.000 s (stalled)")
        #expect(line(.recovery(from: refusal)) == "* f: retrying (503)")
    }

    /// The lines at the end tell it.
    @Test func whatTheEndTells() {
        #expect(line(.start) == nil)
        #expect(line(.success(UploadMetrics())) == nil)
        #expect(line(.failure(CancellationError())) == nil)
    }

    @Test func linesAreTakenOnce() {
        let log = ActivityLog([job])
        let request = UploadActivity.Event.transaction(.init(statusCode: 503))
        let activities = [(1, .start), (1, request), (2, request), (1, request)] as [(Int, UploadActivity.Event)]
        for (number, event) in activities {
            let url = number == 1 ? job.request.url : nil
            log.note(UploadActivity(uploadIdentifier: number, method: "PUT", url: url, event: event))
        }
        let starts = log.takeLines().map { $0.prefix { $0 != ":" } + $0.drop { $0 != ":" }.prefix(11) }
        #expect(starts == ["* a\\nb: request 1", "* 2: request 1", "* a\\nb: request 2"])
        #expect(log.takeLines().isEmpty)
    }
}
