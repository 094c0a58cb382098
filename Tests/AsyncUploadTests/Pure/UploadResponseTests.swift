import Foundation
import Testing

@testable import AsyncUpload

@Suite("A response and what can be had from it", .timeLimit(.minutes(5)))
struct UploadResponseTests {
    private struct Order: Decodable, Equatable {
        var items: [Item]
        struct Item: Decodable, Equatable {
            var price: Int
        }
    }

    private func response(_ body: String?) -> UploadResponse {
        UploadResponse(statusCode: 200, body: body.map { Data($0.utf8) }, metrics: AsyncUploadTests.metrics(2))
    }

    @Test("The body decodes into what is asked for")
    func decode() throws {
        let order = try response(#"{"items":[{"price":1},{"price":2}]}"#).decode(Order.self)
        #expect(order == Order(items: [.init(price: 1), .init(price: 2)]))
        let dated: [Date] = try {
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .secondsSince1970
            return try response("[0]").decode(decoder: decoder)
        }()
        #expect(dated == [Date(timeIntervalSince1970: 0)])
    }

    @Test(
        "What does not decode says what, where and how it begins",
        arguments: [
            (#"{"items":[{"price":1},{"price":"x"}]}"#, " at items.1.price"), (#"{"items":[{}]}"#, " at items.0.price"),
            (#"{"items":[null]}"#, " at items.0"), (#"{"items":null}"#, " at items"), ("[]", ""), ("", ""),
            ("<html>", ""),
        ]
    )
    func failure(body: String, place: String) throws {
        let error = #expect(throws: UploadError.self) { try response(body).decode(Order.self) }
        #expect(error?.code == .responseNotDecodable)
        #expect(error?.detail == "Order\(place); it begins \(body.debugDescription)")
        #expect(error?.underlying is DecodingError)
        #expect(error?.response?.text() == body)
        #expect(error?.attempts == 2)
    }

    @Test("Only the first characters of a long body are quoted")
    func longBody() {
        let error = #expect(throws: UploadError.self) {
            try response(String(repeating: "x", count: 10_000)).decode(Order.self)
        }
        #expect(error?.detail == "Order; it begins \"\(String(repeating: "x", count: 80))\"")
    }

    @Test("No body is an empty text and does not decode")
    func noBody() {
        #expect(response(nil).text() == "")
        let error = #expect(throws: UploadError.self) { try response(nil).decode(Int.self) }
        #expect(error?.code == .responseNotDecodable)
    }

    @Test("The text follows the Content-Type")
    func text() {
        var response = UploadResponse(statusCode: 200, body: Data([0xE9, 0x00]))
        response.headers["content-type"] = "text/plain; charset=utf-16le"
        #expect(response.text() == "é")
    }

    @Test("An error of another kind has no place")
    func noPlace() {
        #expect(TextDecoding.place(of: CancellationError()) == "")
    }
}
