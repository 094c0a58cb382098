import Foundation
import Testing

@testable import AsyncUpload

@Suite("What an error says", .timeLimit(.minutes(5)))
struct UploadErrorTests {
    private static let codes = UploadError.Code.Kind.allCases.map { UploadError.Code(kind: $0) }

    @Test("Every code has its own name and its own words", arguments: codes)
    func texts(code: UploadError.Code) {
        let error = UploadError(code)
        #expect(!error.shortDescription.isEmpty)
        #expect(!error.shortDescription.hasSuffix("."))
        #expect(error.errorDescription == error.shortDescription)
        #expect(error.recoverySuggestion?.isEmpty == false)
        #expect(error.recoverySuggestion?.hasSuffix(".") == false)
        #expect(Self.codes.filter { $0.description == code.description }.count == 1)
        #expect(Self.codes.filter { UploadError($0).shortDescription == error.shortDescription }.count == 1)
    }

    @Test("A code is itself and no other")
    func equality() {
        #expect(Set(Self.codes).count == Self.codes.count)
        #expect(UploadError.Code.timedOut.description == "timedOut")
    }

    @Test("The detail follows the short description, which stays as it is")
    func detail() {
        let error = UploadError(.fileNotFound, detail: "/x/y")
        #expect(error.shortDescription == "No such file")
        #expect(error.errorDescription == "No such file: /x/y")
        #expect(error.localizedDescription == "No such file: /x/y")
        #expect(error.description == "UploadError.fileNotFound: No such file: /x/y")
    }

    @Test("More than one request is told")
    func attempts() {
        #expect(UploadError(.timedOut, metrics: metrics(1)).description == "UploadError.timedOut: It took too long")
        let error = UploadError(.timedOut, metrics: metrics(3))
        #expect(error.description == "UploadError.timedOut: It took too long (after 3 requests)")
        #expect("\(error)" == error.description)
    }

    @Test(
        "An errno becomes a code, and is kept",
        arguments: [
            (ENOENT, UploadError.Code.fileNotFound), (ENOTDIR, .fileNotFound), (EACCES, .permissionDenied),
            (EPERM, .permissionDenied), (EISDIR, .notARegularFile), (ENXIO, .notARegularFile),
            (ELOOP, .notARegularFile),
            (EIO, .bodyUnreadable),
        ]
    )
    func errnos(number: CInt, code: UploadError.Code) {
        let error = UploadError.reading("/x", errno: number)
        #expect(error.code == code)
        #expect(error.detail?.hasPrefix("/x") == true)
        #expect((error.underlying as NSError?)?.code == Int(number))
    }
}
