import Foundation
import Testing

@testable import upload

/// The flags that make a body, as far as nothing has to be read or sent for it.
@Suite struct BodyArgumentTests {
    private static let url = "http://h/d/"

    private func send(_ arguments: String...) throws -> (sources: [Source], options: Options) {
        let command = try Arguments.parse(arguments + [Self.url]).get()
        guard case .send(let sources, let options) = command else { throw UsageError("not an upload: \(command)") }
        return (sources, options)
    }

    @Test func form() throws {
        let (sources, options) = try send("-F", "a=1", "--form-string", "b=@2", "-F", "c=@-,x/y")
        let parts = [
            FormPart(name: "a", origin: .text("1")), FormPart(name: "b", origin: .text("@2")),
            FormPart(name: "c", origin: .standardInput, filename: "-"),
            FormPart(name: "c", origin: .file("x/y"), filename: "y"),
        ]
        #expect(sources.map(\.content) == [.form(parts)])
        #expect(sources.map(\.url.absoluteString) == [Self.url])
        #expect(sources.map(\.label) == ["-F"])
        #expect(options.method == "POST")
        #expect(options.contentType == nil)
        #expect(try send("-F", "a=1", "-XPUT").options.method == "PUT")
    }

    @Test func data() throws {
        let (sources, options) = try send("-d", "a", "-d", "@b", "--data-urlencode", "c@./-")
        let pieces = [
            DataPiece(origin: .text("a")), DataPiece(origin: .file("b"), treatment: .withoutLineBreaks),
            DataPiece(origin: .file("./-"), treatment: .encoded, prefix: "c="),
        ]
        #expect(sources.map(\.content) == [.data(pieces)])
        #expect(sources.map(\.label) == ["-d"])
        #expect(options.method == "POST")
        #expect(options.contentType == "application/x-www-form-urlencoded")
        #expect(try send("--data-binary", "@x/y").sources.map(\.label) == ["x/y"])
    }

    /// A combining mark makes one character of itself and what stands before it.
    @Test(arguments: [["-d", "\u{301}a"], ["-d\u{301}a"], ["--data", "\u{301}a"], ["--data=\u{301}a"]])
    func combiningMark(arguments: [String]) throws {
        let command = try Arguments.parse(arguments + [Self.url]).get()
        guard case .send(let sources, _) = command else { throw UsageError("not an upload: \(command)") }
        #expect(sources.map(\.content) == [.data([DataPiece(origin: .text("\u{301}a"))])])
    }

    @Test(arguments: [
        (["-F", "a"], "-F needs NAME=VALUE, NAME=@FILE or NAME=<FILE, not \"a\""),
        (["-F", ""], "-F needs NAME=VALUE, NAME=@FILE or NAME=<FILE, not \"\""),
        (["-F", "=a"], "-F needs a name before the = of \"=a\""),
        (["--form-string", "a"], "--form-string needs NAME=VALUE, not \"a\""),
        (["--form-string", "=a"], "--form-string needs a name before the = of \"=a\""),
        (["-F", "a=@"], "-F a: @ needs the path of a file"),
        (["-F", "a=@b,"], "-F a: @ needs the path of a file"),
        (["-F", "a=@;type=x/y"], "-F a: @ needs the path of a file"),
        (["-F", "a=<"], "-F a: < needs the path of a file"),
        (["-F", "a=<b;filename=c"], "-F a: filename= does not go with <; @ sends a file with a name"),
        (["-F", "a=(b"], "-F a: nested forms cannot be sent; for a text that begins with ( use --form-string"),
        (["-F", "a=\"b\"c"], "-F a: there is something behind the closing quote"),
        (["-F", "a=@\"b\" c,d"], "-F a: there is something behind the closing quote"),
        (["-F", "a=b;headers=c"], "-F a: headers= and encoder= are not supported"),
        (["-F", "a=b;type=x/y;encoder=base64"], "-F a: headers= and encoder= are not supported"),
        (["-F", "a=b;type=foo"], "-F a: type= needs a media type such as text/plain, not \"foo\""),
        (["-F", "a=b;type="], "-F a: type= needs a media type such as text/plain, not \"\""),
        (["-F", "a=b;type=x/y z"], "-F a: type= needs a media type such as text/plain, not \"x/y z\""),
        (["-F", "a=b;type=x/y;c=\r\nd: e"], "-F a: the type has a control character in it"),
        (
            ["-F", "a=b;c"],
            "-F a: \"c\" after ; is neither type= nor filename=; "
                + "put a value with ; or , into double quotes, or use --form-string"
        ),
        (["-F"], "-F, --form needs a value"),
        (["-d", "@"], "-d @ needs a path"),
        (["--data-binary", "@"], "--data-binary @ needs a path"),
        (["--data-urlencode", "@"], "--data-urlencode @ needs a path"),
        (["--data-urlencode", "n@"], "--data-urlencode n@ needs a path"),
        (
            ["-d", "@-", "--data-urlencode", "n@-"],
            "standard input can be read only once, and --data-urlencode wants it again"
        ),
        (["-d", "a", "f", url], "-d takes a URL and no FILE"),
        (["-d", "a", "f"], "f is not an http or https URL: is http:// missing?"),
        (["-d", "a"], "-d needs a URL"),
        (["--demo", "-d", "a"], "-d, --data means nothing to --demo"),
        (["--demo", "--form-string", "a=b"], "--form-string means nothing to --demo"),
    ])
    func errors(arguments: [String], message: String) {
        #expect(Arguments.parse(arguments) == .failure(UsageError(message)))
    }

    /// Whatever there is in the argument, it is taken or refused.
    @Test func anythingGoes() {
        let pieces = [
            "", "a", "=", "@", "<", ";", ",", "\"", "\\", " ", "type=", "filename=", "x/y", "-", "\u{301}", "\0",
        ]
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<3000 {
            let text = (0..<9).map { _ in pieces.randomElement(using: &generator) ?? "" }.joined()
            for flag in ["-F", "--form-string", "-d", "--data-urlencode"] {
                if case .failure(let error) = Arguments.parse([flag, text, Self.url]) {
                    #expect(!error.message.isEmpty)
                    #expect(!error.line.contains("\n"))
                }
            }
        }
    }
}
