import Foundation
import Testing

@testable import upload

@Suite struct ArgumentTests {
    private static let url = "http://h/d/f"

    private func parse(_ arguments: String...) throws -> Command {
        try Arguments.parse(arguments).get()
    }

    private func send(_ arguments: [String]) throws -> (sources: [Source], options: Options) {
        let command = try Arguments.parse(arguments).get()
        guard case .send(let sources, let options) = command else {
            throw UsageError("not an upload: \(command)")
        }
        return (sources, options)
    }

    private func options(_ arguments: String...) throws -> Options {
        try send(arguments + ["f", Self.url]).options
    }

    // MARK: Commands

    @Test func plainUseIsTheDemonstration() throws {
        #expect(try parse() == .demo(file: nil, Options()))
        #expect(try parse("--demo") == .demo(file: nil, Options()))
        #expect(try parse("--demo", "a") == .demo(file: "a", Options()))
        #expect(try parse("a", "--demo") == .demo(file: "a", Options()))
        let options = Options(progress: .json, isSilent: true)
        #expect(try parse("--demo", "-s", "--progress", "json") == .demo(file: nil, options))
    }

    @Test(arguments: ["-h", "--help"])
    func help(flag: String) throws {
        #expect(try parse(flag) == .help)
        #expect(try parse("-s", flag, "--nonsense") == .help)
    }

    @Test(arguments: ["-V", "--version"])
    func version(flag: String) throws {
        #expect(try parse(flag) == .version)
    }

    @Test func fileAndURL() throws {
        let (sources, options) = try send(["f", Self.url])
        #expect(sources.map(\.content) == [.file("f")])
        #expect(sources.map(\.url.absoluteString) == [Self.url])
        #expect(options == Options())
        #expect(options.method == "PUT")
        #expect(options.parallel == 4)
        #expect(options.redirectLimit == 20)
    }

    @Test func severalFiles() throws {
        let sources = try send(["a", "x/b c", "http://h/d/"]).sources
        #expect(sources.map(\.content) == [.file("a"), .file("x/b c")])
        #expect(sources.map(\.url.absoluteString) == ["http://h/d/a", "http://h/d/b%20c"])
    }

    // MARK: Options

    @Test(arguments: [["-X", "PATCH"], ["-XPATCH"], ["--request", "PATCH"], ["--request=PATCH"]])
    func method(arguments: [String]) throws {
        #expect(try send(arguments + ["f", Self.url]).options.method == "PATCH")
        #expect(try send(["f"] + arguments + [Self.url]).options.method == "PATCH")
        #expect(try send(["f", Self.url] + arguments).options.method == "PATCH")
    }

    @Test func headers() throws {
        let options = try options("-H", "A: 1", "-HB:2 ", "--header=C:", "--header", "D:  x:y \t")
        #expect(
            options.headers == [
                .init(name: "A", value: "1"), .init(name: "B", value: "2"), .init(name: "C", value: nil),
                .init(name: "D", value: "x:y"),
            ]
        )
    }

    @Test func authorization() throws {
        #expect(try options("-u", "me:a:b").authorization == .basic(user: "me", password: "a:b"))
        #expect(try options("--user=me:").authorization == .basic(user: "me", password: ""))
        #expect(try options("--bearer", "t0k").authorization == .bearer("t0k"))
        #expect(try options("-u", "a:b", "-u", "c:d").authorization == .basic(user: "c", password: "d"))
        let (sources, options) = try send(["f", "http://me:p%40ss@h/f#part"])
        #expect(options.authorization == .basic(user: "me", password: "p@ss"))
        #expect(sources.map(\.url.absoluteString) == ["http://h/f"])
        #expect(
            try send(["-u", "x:y", "f", "http://me:p@h/f"]).options.authorization == .basic(user: "x", password: "y")
        )
    }

    @Test func json() throws {
        var (sources, options) = try send(["--json", "{}", Self.url])
        #expect(sources == [Source(content: .bytes(Data("{}".utf8)), url: try #require(URL(string: Self.url)))])
        #expect(options.method == "POST")
        #expect(options.sendsJSON)
        (sources, options) = try send(["--json=@a b.json", "-X", "PUT", Self.url])
        #expect(sources.map(\.content) == [.file("a b.json")])
        #expect(options.method == "PUT")
    }

    @Test func output() throws {
        for arguments in [["-o", "x"], ["-ox"], ["--output", "x"], ["--output=x"]] {
            #expect(try send(arguments + ["f", Self.url]).options.output == "x")
        }
        #expect(try options("-i").includesHead)
        #expect(try options("--include").includesHead)
    }

    @Test func words() throws {
        #expect(try options("-s").isSilent)
        #expect(try options("--silent").isSilent)
        #expect(try options("-v").isVerbose)
        #expect(try options("--verbose").isVerbose)
        let both = try options("-siv")
        #expect(both.isSilent && both.isVerbose && both.includesHead)
        #expect(try options("-sXPOST").method == "POST")
        for progress in Options.Progress.allCases {
            #expect(try options("--progress", progress.rawValue).progress == progress)
        }
        #expect(try options().progress == nil)
    }

    @Test func numbers() throws {
        #expect(try options("-P", "1").parallel == 1)
        #expect(try options("--parallel=300").parallel == 300)
        #expect(try options("--max-redirs", "0").redirectLimit == 0)
        #expect(try options("--max-redirs=-1").redirectLimit == .max)
        #expect(try options("--no-location").redirectLimit == nil)
        #expect(try options("--no-location", "--max-redirs", "3").redirectLimit == nil)
    }

    @Test func onlyOperandsAfterTwoDashes() throws {
        let sources = try send(["--", "-X", "--help", "--", "http://h/"]).sources
        #expect(sources.map(\.content) == [.file("-X"), .file("--help"), .file("--")])
    }

    // MARK: Errors

    @Test(arguments: [
        (["--nope"], "unknown option --nope"),
        (["--nope=1"], "unknown option --nope"),
        (["-q", "f", url], "unknown option -q"),
        (["-sq", "f", url], "unknown option -q"),
        (["-s"], "no FILE and no URL (upload --demo shows how it works)"),
        (["f"], "no URL to send f to"),
        ([url], "no FILE to send to \(url)"),
        (["f", "ftp://h/"], "ftp://h/ is not an http or https URL"),
        (["f", "h/f"], "h/f is not an http or https URL: is http:// missing?"),
        (["f", "http://"], "http:// is not a valid URL"),
        (["f", "http:///x"], "http:///x is not a valid URL"),
        (["f", "http://h:99999/x"], "http://h:99999/x is not a valid URL"),
        (["f", "http://me:secret@h:99999/x"], "http://h:99999/x is not a valid URL"),
        (["https://me:sec@ret@host/"], "no FILE to send to https://host/"),
        ([url, "f"], "the URL comes last, after the files"),
        (["a", "b", url], "several files need a URL that ends in /"),
        (["a", "b", "http://h/d/?x=/"], "several files need a URL that ends in /"),
        (["x/a", "y/a", "http://h/"], "x/a and y/a would both be sent to http://h/a"),
        (["", url], "an empty file name or URL"),
        (["..", "http://h/"], ".. has no name to append to the URL"),
        (["/", "http://h/"], "/ has no name to append to the URL"),
        (["-X", "", "f", url], "-X needs a method, not \"\""),
        (["-X", "A B", "f", url], "-X needs a method, not \"A B\""),
        (["-X", "GET", "f", url], "GET does not send anything; use PUT, POST or PATCH"),
        (["f", url, "-X"], "-X, --request needs a value"),
        (["f", url, "--bearer"], "--bearer needs a value"),
        (["-H", "abc", "f", url], "-H needs 'Name: value'"),
        (["-H", ": x", "f", url], "\"\" is not the name of a header"),
        (["-H", "A b: x", "f", url], "\"A b\" is not the name of a header"),
        (["-H", "A: x\r\nB: y", "f", url], "the value of the header A has a control character in it"),
        (["-u", "secret", "f", url], "-u needs NAME:PASSWORD"),
        (["-u", "a:b", "--bearer", "t", "f", url], "-u and --bearer do not go together"),
        (["--bearer", "", "f", url], "--bearer needs a token without blanks"),
        (["--bearer", "a b", "f", url], "--bearer needs a token without blanks"),
        (["--json", "{}", "f", url], "--json takes a URL and no FILE"),
        (["--json", "{}", "--json", "{}", url], "--json may be given once"),
        (["--json", "@", url], "--json @ needs a path"),
        (["--json", "{}"], "--json needs a URL"),
        (["-o", "", "f", url], "-o needs the name of a file"),
        (["--progress", "dots", "f", url], "--progress is bar, json or none, not \"dots\""),
        (
            ["-v", "--progress=json", "f", url],
            "-v and --progress json do not go together: both write to standard error"
        ),
        (["--silent=yes", "f", url], "--silent takes no value"),
        (["-P", "0", "f", url], "-P needs a number from 1 to 300, not \"0\""),
        (["-P", "+4", "f", url], "-P needs a number from 1 to 300, not \"+4\""),
        (["-P", "", "f", url], "-P needs a number from 1 to 300, not \"\""),
        (["-P", "301", "f", url], "-P needs a number from 1 to 300, not \"301\""),
        (["--max-redirs", "-2", "f", url], "--max-redirs needs a number, not \"-2\""),
        (["--max-redirs", "x", "f", url], "--max-redirs needs a number, not \"x\""),
        (["--demo", "-X", "PUT"], "-X, --request means nothing to --demo"),
        (["--demo", "f", url], "--demo takes one FILE and no URL"),
        (["--demo", url], "--demo takes a FILE and no URL"),
    ])
    func errors(arguments: [String], message: String) {
        #expect(Arguments.parse(arguments) == .failure(UsageError(message)))
    }

    @Test func errorLineIsOneLine() {
        let line = UsageError("a\nb\u{1b}[2J").line
        #expect(line == "upload: a\\nb\\u{1b}[2J; see upload --help")
    }

    @Test func helpFitsEightyColumns() {
        #expect(HelpText.text.split(separator: "\n").allSatisfy { $0.count <= 80 })
        for flag in Flag.allCases { #expect(HelpText.text.contains("--\(flag.rawValue)")) }
        for status in [2, 6, 7, 22, 23, 26, 28, 35, 47, 55, 56, 60, 130] {
            #expect(HelpText.text.contains(" \(status)  "))
        }
    }
}
