import Foundation
import Testing

@testable import AsyncUpload

@Suite("What an upload sends", .timeLimit(.minutes(5)))
struct UploadBodyTests {
    private struct Order: Encodable {
        var price: Double
    }

    @Test("JSON says what it is; data and files say nothing")
    func contentTypes() {
        #expect(UploadBody.json([1]).contentType == "application/json")
        #expect(UploadBody.data(Data()).contentType == nil)
        #expect(UploadBody.file(url("file:///x")).contentType == nil)
    }

    @Test("A value is sent as its encoder writes it")
    func json() throws {
        #expect(
            try UploadBody.json(Order(price: 1.5)).open().source().bytes(inPiecesOf: 100)
                == Data(#"{"price":1.5}"#.utf8)
        )
        let encoder = JSONEncoder()
        encoder.nonConformingFloatEncodingStrategy =
            .convertToString(positiveInfinity: "+", negativeInfinity: "-", nan: "?")
        let body = UploadBody.json(Order(price: .nan), encoder: encoder)
        #expect(try body.open().source().bytes(inPiecesOf: 100) == Data(#"{"price":"?"}"#.utf8))
    }

    @Test("What cannot be encoded fails when it is opened, not before")
    func notEncodable() throws {
        let body = UploadBody.json(Order(price: .nan))
        let error = #expect(throws: UploadError.self) { _ = try body.open() }
        #expect(error?.code == .bodyNotEncodable)
        #expect(error?.detail == "Order")
        #expect(error?.underlying is EncodingError)
    }

    @Test("A file is opened each time it is sent")
    func file() throws {
        let scratch = try ScratchFolder()
        let body = UploadBody.file(scratch.path("later"))
        let error = #expect(throws: UploadError.self) { _ = try body.open() }
        #expect(error?.code == .fileNotFound)
        _ = try scratch.file(bytes(10), name: "later")
        #expect(try body.open().length == 10)
    }

    @Test("Data can be opened any number of times")
    func data() throws {
        let body = UploadBody.data(bytes(10))
        for _ in 0..<3 { #expect(try body.open().source().bytes(inPiecesOf: 4) == bytes(10)) }
    }
}
