import Foundation
import Testing

@testable import AsyncUpload

@Suite("Header fields", .timeLimit(.minutes(5)))
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

    @Test("Repeated fields are all there, in order, and joined where one value is asked for")
    func repeated() {
        var fields = HTTPFields()
        fields.append("a=1", for: "Set-Cookie")
        fields.append("x", for: "Vary")
        fields.append("b=2", for: "set-cookie")
        #expect(fields.values(for: "SET-COOKIE") == ["a=1", "b=2"])
        #expect(fields.values(for: "None").isEmpty)
        #expect(fields["Set-Cookie"] == "a=1, b=2")
        #expect(fields.map(\.value) == ["a=1", "x", "b=2"])
        fields["Set-Cookie"] = "c=3"
        #expect(fields.map(\.value) == ["c=3", "x"])
    }

    @Test("Fields are equal whatever the case and the order of their names, unless values of one name swap places")
    func equality() {
        func fields(_ pairs: KeyValuePairs<String, String>) -> HTTPFields {
            var fields = HTTPFields()
            for (name, value) in pairs { fields.append(value, for: name) }
            return fields
        }
        #expect(fields(["A": "1", "b": "2"]) == fields(["B": "2", "a": "1"]))
        #expect(fields(["A": "1", "b": "2"]).hashValue == fields(["B": "2", "a": "1"]).hashValue)
        #expect(fields(["A": "1", "A": "2"]) != fields(["A": "2", "A": "1"]))
        #expect(fields(["A": "1"]) != fields(["A": "1", "A": "1"]))
        // The Kelvin sign is no k, here as in looking up.
        #expect(fields(["\u{212A}": "1"]) != fields(["k": "1"]))
        #expect(fields(["\u{212A}": "1"])["k"] == nil)
    }

    @Test("Those of a response of URLSession are all there, sorted by name")
    func response() throws {
        let head = HTTPURLResponse(
            url: url("http://host.test/"),
            statusCode: 200,
            httpVersion: "HTTP/1.1",
            headerFields: ["b": "2", "C": "3", "A": "1"]
        )
        let fields = HTTPFields(try #require(head))
        #expect(fields.map(\.value) == ["1", "2", "3"])
        #expect(fields.map { $0.name.lowercased() } == ["a", "b", "c"])
    }
}
