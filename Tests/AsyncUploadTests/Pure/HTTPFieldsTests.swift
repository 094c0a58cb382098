import Foundation
import Testing

@testable import AsyncUpload

@Suite("Header fields", .timeLimit(.minutes(1)))
struct HTTPFieldsTests {
    @Test("Names are compared without regard to case")
    func letterCase() {
        var fields = HTTPFields()
        fields["Content-Type"] = "a"
        #expect(fields["content-type"] == "a")
        #expect(fields["CONTENT-TYPE"] == "a")
        #expect(fields["Content-Typ"] == nil)
    }

    @Test("A new value replaces the old one and keeps the spelling of the name; nil removes it")
    func assigning() {
        var fields = HTTPFields()
        fields["X-One"] = "1"
        fields["x-one"] = "2"
        #expect(fields.map(\.name) == ["X-One"])
        #expect(fields.map(\.value) == ["2"])
        fields["X-ONE"] = nil
        #expect(Array(fields).isEmpty)
        #expect(fields == HTTPFields())
    }

    @Test("They come sorted by name")
    func order() {
        let fields = HTTPFields(head(200, ["b": "2", "C": "3", "A": "1"]))
        #expect(fields.map(\.value) == ["1", "2", "3"])
        #expect(fields.map { $0.name.lowercased() } == ["a", "b", "c"])
    }

    @Test("Those of a response are all there")
    func response() {
        let fields = HTTPFields(head(200, ["Location": "/x", "Content-Length": "0"]))
        #expect(fields["location"] == "/x")
        #expect(fields["content-length"] == "0")
        #expect(Array(fields).count == 2)
    }
}
