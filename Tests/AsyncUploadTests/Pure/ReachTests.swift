import Foundation
import Testing

@testable import AsyncUpload

@Suite("What a failed exchange can have reached", .timeLimit(.minutes(5)))
struct ReachTests {
    private let start = TransferMachine.Instant.now

    private func machine(reportsConnections: Bool) -> TransferMachine {
        var machine = TransferMachine(
            body: .length(1000),
            responseBodyLimit: 100,
            method: "POST",
            limits: TimeLimits(
                connection: .seconds(5),
                stall: .seconds(10),
                response: .seconds(20),
                total: .seconds(99)
            ),
            at: start
        )
        machine.reportsConnections = reportsConnections
        return machine
    }

    private static let connectionFailures: [UploadError.Code] = [
        .hostNotFound, .cannotConnect, .secureConnectionFailed, .certificateUntrusted, .certificateHostMismatch,
    ]
    private static let otherFailures: [UploadError.Code] = [
        .timedOut, .stalled, .transferFailed, .connectionLostDuringBody, .fileChanged, .responseUnreadable,
    ]

    @Test(
        "Nothing without a connection, where the library tells of those",
        arguments: connectionFailures + otherFailures
    )
    func noConnection(code: UploadError.Code) throws {
        var (theirs, ours) = (machine(reportsConnections: true), machine(reportsConnections: true))
        _ = ours.fail(UploadError(code))
        for error in [
            theirs.didComplete(UploadError(code), lastHead: nil).error,
            ours.didComplete(UploadError(.transferFailed), lastHead: nil).error,
        ] {
            let error = try #require(error as? UploadError)
            #expect(error.code == (code.isConnectionLoss ? .connectionLostBeforeBody : code))
            #expect(!error.mayHaveReachedServer)
        }
    }

    @Test("Nothing when the connection takes too long")
    func connectionLimit() throws {
        for reportsConnections in [true, false] {
            var machine = machine(reportsConnections: reportsConnections)
            #expect(machine.didPass(start + .seconds(5)).stops)
            let error = try #require(machine.didComplete(nil, lastHead: nil).error as? UploadError)
            #expect(error.code == .timedOut)
            #expect(error.mayHaveReachedServer == !reportsConnections)
        }
    }

    @Test("The server, once there is a connection, whatever comes of it", arguments: connectionFailures + otherFailures)
    func connection(code: UploadError.Code) throws {
        for connect: (inout TransferMachine) -> Void in [
            { $0.didConnect(at: start) }, { _ = $0.didSend(1, at: start) }, { _ = $0.didRunOutOfBody(at: start) },
            { _ = $0.didReceive(head(103), at: start) },
        ] {
            for (reportsConnections, beginsAnew) in [(true, false), (true, true), (false, false), (false, true)] {
                var machine = machine(reportsConnections: reportsConnections)
                connect(&machine)
                // The first connection may have carried the request, even if there is no second one.
                if beginsAnew { _ = machine.didBeginAnew(at: start) }
                let error = machine.didComplete(UploadError(code), lastHead: nil).error as? UploadError
                #expect(try #require(error).mayHaveReachedServer)
            }
        }
    }

    @Test("Where connections are not told of, the kind of failure has to say it")
    func notReported() throws {
        for code in Self.connectionFailures + Self.otherFailures {
            var machine = machine(reportsConnections: false)
            let error = machine.didComplete(UploadError(code), lastHead: nil).error as? UploadError
            #expect(try #require(error).mayHaveReachedServer == Self.otherFailures.contains(code), "\(code)")
        }
    }

    @Test("An error that is made elsewhere does not claim that nothing was sent")
    func byDefault() {
        #expect(UploadError(.cannotConnect).mayHaveReachedServer)
    }
}
