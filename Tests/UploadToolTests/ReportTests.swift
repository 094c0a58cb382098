import AsyncUpload
import Foundation
import Testing

@testable import upload

@Suite struct ReportTests {
    private func object(_ line: String) throws -> [String: Any] {
        #expect(line.hasSuffix("\n"))
        #expect(line.dropLast().unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7f...0x9f).contains($0.value) })
        #expect(!line.contains("\u{2028}"))
        return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }

    // MARK: JSON

    @Test func progressLine() throws {
        let progress = UploadProgress(
            fraction: 0.62,
            bytesSent: 1_240_000_000,
            totalBytes: 2_000_000_000,
            bytesPerSecond: 84_000_000.4,
            attempt: 2
        )
        let line = try object(JSONLine.progress(file: "movie.mp4", progress))
        #expect(
            Set(line.keys)
                == ["event", "file", "fraction", "bytesSent", "totalBytes", "bytesPerSecond", "attempt"]
        )
        #expect(line["event"] as? String == "progress")
        #expect(line["file"] as? String == "movie.mp4")
        #expect(line["fraction"] as? Double == 0.62)
        #expect(line["bytesSent"] as? Int == 1_240_000_000)
        #expect(line["totalBytes"] as? Int == 2_000_000_000)
        #expect(line["bytesPerSecond"] as? Int == 84_000_000)
        #expect(line["attempt"] as? Int == 2)
    }

    @Test func waitingLine() throws {
        var progress = UploadProgress(attempt: 2, retryingIn: .milliseconds(3200), retryReason: "503")
        let text = JSONLine.progress(file: "f", progress)
        #expect(text.contains("\"retryingIn\":3.2,"))
        let line = try object(text)
        #expect(line["event"] as? String == "progress")
        #expect(line["retryingIn"] as? Double == 3.2)
        #expect(line["retryReason"] as? String == "503")
        #expect(line["attempt"] as? Int == 2)
        progress.retryingIn = .zero
        #expect(try object(JSONLine.progress(file: "f", progress))["retryingIn"] as? Double == 0)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300])
    func noNumberThatIsNone(number: Double) throws {
        let progress = UploadProgress(fraction: number, bytesPerSecond: number)
        let line = try object(JSONLine.progress(file: "f", progress))
        #expect(line["bytesPerSecond"] as? Int == 0)
        #expect(line["totalBytes"] is NSNull)
    }

    @Test(arguments: ["a\nb", "\u{1b}[2J\"\\", "\u{7f}\u{9b}2J\u{85}", "\u{2028}\u{2029}", "ü/😀"])
    func names(name: String) throws {
        let line = try object(JSONLine.progress(file: name, UploadProgress()))
        #expect(line["file"] as? String == name)
    }

    @Test func responseLine() throws {
        var headers = HTTPFields()
        headers["Location"] = "/x"
        let response = UploadResponse(
            statusCode: 201,
            headers: headers,
            body: Data("abc".utf8),
            metrics: UploadMetrics(bytesSent: 5, duration: .milliseconds(1500), transactions: [.init(), .init()])
        )
        let line = try object(JSONLine.end(file: "f", .accepted(response), attempt: 2))
        #expect(Set(line.keys) == ["event", "file", "status", "headers", "bytesReceived", "attempts", "seconds"])
        #expect(line["event"] as? String == "response")
        #expect(line["status"] as? Int == 201)
        #expect(line["headers"] as? [String: String] == ["Location": "/x"])
        #expect(line["bytesReceived"] as? Int == 3)
        #expect(line["attempts"] as? Int == 2)
        #expect(line["seconds"] as? Double == 1.5)
    }

    @Test func errorLine() throws {
        let response = UploadResponse(statusCode: 413)
        let error = UploadError(
            .unacceptableStatus,
            detail: "413",
            response: response,
            metrics: UploadMetrics(transactions: [.init()])
        )
        var line = try object(JSONLine.end(file: "f", .failed(error), attempt: 1))
        #expect(Set(line.keys) == ["event", "file", "code", "status", "message", "attempts"])
        #expect(line["event"] as? String == "error")
        #expect(line["code"] as? String == "unacceptableStatus")
        #expect(line["status"] as? Int == 413)
        #expect(line["message"] as? String == "The server refused the upload: 413")
        #expect(line["attempts"] as? Int == 1)
        line = try object(JSONLine.end(file: "f", .interrupted, attempt: 1))
        #expect(line["code"] as? String == "interrupted")
        #expect(line["status"] is NSNull)
    }

    // MARK: Errors

    @Test func lines() {
        let path = FilePath.absolute("movie.mp4")
        #expect(
            ErrorLine.text(label: "movie.mp4", UploadError(.fileNotFound, detail: path))
                == "upload: movie.mp4: No such file. Check the path."
        )
        #expect(
            ErrorLine.text(label: "a\nb", UploadError(.transferFailed, detail: "x\r\ny."))
                == "upload: a\\nb: The transfer failed: x\\r\\ny."
        )
        let refusal = UploadError(.unacceptableStatus, detail: "422", response: UploadResponse(statusCode: 422))
        #expect(ErrorLine.text(label: "f", refusal) == "upload: f: The server refused the upload: 422.")
    }

    @Test func numberOfRequests() {
        var error = UploadError(.unacceptableStatus, detail: "503", response: UploadResponse(statusCode: 503))
        error.metrics.transactions = [.init(), .init(), .init(), .init()]
        #expect(ErrorLine.text(label: "f", error) == "upload: f: The server refused the upload: 503, after 4 requests.")
        error.response?.body = Data("busy".utf8)
        #expect(
            ErrorLine.text(label: "f", error)
                == "upload: f: The server refused the upload: 503, after 4 requests. See the response's body."
        )
        let other = UploadError(.transferFailed, detail: "Odd.", metrics: error.metrics)
        #expect(ErrorLine.text(label: "f", other) == "upload: f: The transfer failed: Odd. After 4 requests.")
    }

    /// A redirect that was followed is a part of one attempt.
    @Test func redirectsAreNoFailures() {
        var error = UploadError(.unacceptableStatus, detail: "404", response: UploadResponse(statusCode: 404))
        error.metrics.transactions = [.init(isRedirected: true), .init()]
        #expect(ErrorLine.text(label: "f", error) == "upload: f: The server refused the upload: 404.")
        error.metrics.transactions += [.init(isRedirected: true), .init()]
        #expect(ErrorLine.text(label: "f", error).contains("404, after 4 requests."))
    }

    @Test func bodyThatCannotBeSentTwice() {
        let refusal = UploadError(.unacceptableStatus, detail: "503", response: UploadResponse(statusCode: 503))
        let error = UploadError(.bodyNotReplayable, response: refusal.response, underlying: refusal)
        #expect(
            ErrorLine.text(label: "-", error) == "upload: -: The server refused the upload: 503. "
                + "Standard input cannot be sent twice: put it into a file and send that."
        )
        #expect(Outcome.failed(error).exitStatus == .refused)
        #expect(Outcome.failed(error).answer?.statusCode == 503)
        let lost = UploadError(.bodyNotReplayable, underlying: UploadError(.connectionLostAfterBody))
        #expect(Outcome.failed(lost).exitStatus == .receivingFailed)
        #expect(Outcome.failed(lost).answer == nil)
    }

    /// The library's own advice is for who writes code.
    @Test(
        arguments: [
            (.bodyNotReplayable, "Put it into a file and send that."),
            (.certificateUntrusted, "Check it, or name the authority that issued it with --cacert."),
            (.invalidTLSOptions, "Check the files of --cacert, --cert and --key."),
        ] as [(UploadError.Code, String)]
    )
    func advice(code: UploadError.Code, text: String) {
        #expect(ErrorLine.text(label: "-", UploadError(code)).hasSuffix(". " + text))
    }

    @Test(
        arguments: [
            (.invalidRequest, 2), (.optionNotSupported, 2), (.transportUnavailable, 2), (.hostNotFound, 6),
            (.cannotConnect, 7), (.unacceptableStatus, 22), (.fileNotFound, 26), (.permissionDenied, 26),
            (.notARegularFile, 26), (.fileChanged, 26), (.bodyUnreadable, 26), (.bodyNotEncodable, 26),
            (.bodyLengthMismatch, 26), (.temporaryFileFailed, 26), (.timedOut, 28), (.stalled, 28),
            (.secureConnectionFailed, 35), (.invalidTLSOptions, 35), (.tooManyRedirects, 47), (.redirectRefused, 47),
            (.bodyNotReplayable, 55), (.bodyNotSent, 55), (.transferFailed, 55), (.shutDown, 55),
            (.connectionLostBeforeBody, 55), (.connectionLostDuringBody, 55), (.connectionLostAfterBody, 56),
            (.responseUnreadable, 56), (.responseTooLarge, 56), (.responseNotDecodable, 56),
            (.certificateUntrusted, 60), (.certificateHostMismatch, 60),
        ] as [(UploadError.Code, Int32)]
    )
    func exitStatus(code: UploadError.Code, status: Int32) {
        #expect(ExitStatus(code).rawValue == status)
        #expect(Outcome.failed(UploadError(code)).exitStatus.rawValue == status)
    }

    // MARK: Comparison

    @Test func comparison() throws {
        let folder = try TemporaryFolder()
        let bytes = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
        let path = try folder.write("f", bytes).path
        func verdict(_ pieces: [Data]) throws -> ByteComparison.Verdict {
            let comparison = try ByteComparison(path: path)
            for piece in pieces { piece.withUnsafeBytes(comparison.take) }
            return comparison.finish()
        }
        #expect(try verdict([bytes]) == .equal(200_000))
        #expect(
            try verdict([bytes.prefix(1), bytes.dropFirst().prefix(99_999), bytes.suffix(100_000)]) == .equal(200_000)
        )
        #expect(try verdict([bytes.dropLast()]) == .different(at: 199_999))
        #expect(try verdict([bytes, Data([0])]) == .different(at: 200_000))
        #expect(try verdict([]) == .different(at: 0))
        var other = bytes
        other[150_000] ^= 1
        #expect(try verdict([other]) == .different(at: 150_000))
        #expect(try verdict([other.prefix(150_001), other.suffix(49_999)]) == .different(at: 150_000))
    }
}
