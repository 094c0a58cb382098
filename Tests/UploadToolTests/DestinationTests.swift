import AsyncUpload
import Foundation
import Testing

@testable import upload

@Suite struct DestinationTests {
    @Test(arguments: [
        ("http://h/d/", "f", "http://h/d/f"),
        ("http://h/d/", "/a/b/f.txt", "http://h/d/f.txt"),
        ("http://h/d/", "a/f/", "http://h/d/f"),
        ("http://h", "f", "http://h/f"),
        ("http://h:81", "f", "http://h:81/f"),
        ("http://h/d", "f", "http://h/d"),
        ("http://h/d/?q", "f", "http://h/d/?q"),
        ("http://h/d/#frag", "f", "http://h/d/f"),
        ("https://h/a%2Fb/", "f", "https://h/a%2Fb/f"),
        ("HTTP://h/", "f", "HTTP://h/f"),
        ("http://[::1]:8/", "f", "http://[::1]:8/f"),
        ("http://h/", "a b.txt", "http://h/a%20b.txt"),
        ("http://h/", "ü.txt", "http://h/%C3%BC.txt"),
        ("http://h/", "u\u{308}", "http://h/u%CC%88"),
        ("http://h/", "x/\u{308}", "http://h/%CC%88"),
        ("http://h/", "a\nb", "http://h/a%0Ab"),
        ("http://h/", "100%?#&+;=@:!$'()*,[]", "http://h/100%25%3F%23%26%2B%3B%3D%40%3A%21%24%27%28%29%2A%2C%5B%5D"),
        ("http://h/", "A-z_0.9~", "http://h/A-z_0.9~"),
        ("http://h/", "...", "http://h/..."),
    ])
    func joining(url: String, file: String, result: String) throws {
        #expect(try Destination(url).url(forFile: file).absoluteString == result)
    }

    @Test func requestFields() throws {
        let url = try #require(URL(string: "http://h/"))
        var options = Options(authorization: .basic(user: "u", password: "p"), contentType: Options.jsonType)
        var request = Job.request(for: Source(content: .bytes(Data("1".utf8)), url: url), options)
        #expect(request.value(forHTTPHeaderField: "User-Agent") == "upload/0.1.0")
        #expect(request.value(forHTTPHeaderField: "Content-Type") == "application/json")
        #expect(request.value(forHTTPHeaderField: "Accept") == "application/json")
        #expect(request.value(forHTTPHeaderField: "Authorization") == "Basic dTpw")
        options.headers = [
            .init(name: "user-agent", value: "x"), .init(name: "Accept", value: nil), .init(name: "A", value: "1"),
            .init(name: "a", value: "2"), .init(name: "B", value: "1"), .init(name: "B", value: nil),
            .init(name: "B", value: "2"), .init(name: "Authorization", value: "mine"),
        ]
        request = Job.request(for: Source(content: .bytes(Data("1".utf8)), url: url), options)
        #expect(request.value(forHTTPHeaderField: "User-Agent") == "x")
        #expect(request.value(forHTTPHeaderField: "Accept") == Platform.valueOfRemovedField)
        #expect(request.value(forHTTPHeaderField: "A") == "1,2")
        #expect(request.value(forHTTPHeaderField: "B") == "2")
        #expect(request.value(forHTTPHeaderField: "Authorization") == "mine")
    }
}
