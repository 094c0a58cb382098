import AsyncUpload
import Foundation
import Testing

@testable import upload

/// The options that say how bytes go out, and standard input.
@Suite struct TransferArgumentTests {
    private static let url = "http://h/d/f"

    private func send(_ arguments: String...) throws -> (sources: [Source], options: Options) {
        let command = try Arguments.parse(arguments).get()
        guard case .send(let sources, let options) = command else { throw UsageError("not an upload: \(command)") }
        return (sources, options)
    }

    private func configuration(_ arguments: String...) throws -> Uploader.Configuration {
        let command = try Arguments.parse(arguments + ["f", Self.url]).get()
        guard case .send(_, let options) = command else { throw UsageError("not an upload: \(command)") }
        return options.configuration
    }

    // MARK: The library's configuration

    @Test func defaultsAreTheLibrary() throws {
        let own = try configuration()
        let library = Uploader.Configuration()
        #expect(own.transport == library.transport)
        #expect(own.tls == library.tls)
        #expect(own.limitRate == nil)
        #expect(own.retry == library.retry)
        #expect(own.timeoutIntervalForResource == library.timeoutIntervalForResource)
        #expect(own.timeoutIntervalForRequest == library.timeoutIntervalForRequest)
        #expect(own.timeoutIntervalForConnection == library.timeoutIntervalForConnection)
        #expect(own.timeoutIntervalForResponse == library.timeoutIntervalForResponse)
        #expect(own.maximumUploadsInFlight == 4)
    }

    @Test func transport() throws {
        #expect(try configuration("--transport", "curl").transport == .libcurl)
        #expect(try configuration("--transport=urlsession").transport == .urlSession)
    }

    @Test func tls() throws {
        var expected = Uploader.TLSOptions()
        expected.certificateAuthorities = .file(FilePath.url("ca.pem"))
        #expect(try configuration("--cacert", "ca.pem").tls == expected)
        expected.clientCertificate = .file(FilePath.url("/c.pem"))
        #expect(try configuration("--cacert=ca.pem", "--cert", "/c.pem").tls == expected)
        expected.privateKey = .file(FilePath.url("~"))
        expected.trustsAnyServer = true
        let all = try configuration("--key", "~", "--cacert=ca.pem", "--cert=/c.pem", "--insecure")
        #expect(all.tls == expected)
    }

    @Test func limits() throws {
        #expect(try configuration("--timeout", "90").timeoutIntervalForResource == 90)
        #expect(try configuration("--stall-timeout", "0.25").timeoutIntervalForRequest == 0.25)
        #expect(try configuration("--connect-timeout=.5").timeoutIntervalForConnection == 0.5)
    }

    @Test func furtherAttempts() throws {
        #expect(try configuration("--retry", "5").retry == .exponential(limit: 5))
        #expect(try configuration("--retry=0").retry == .none)
        #expect(try configuration("--retry=0003").retry.limit == 3)
        #expect(try configuration("--retry=9223372036854775807").retry.limit == .max)
        #expect(try configuration("--retry=1", "--retry", "2").retry.limit == 2)
        var all = RetryPolicy.exponential()
        all.retriesAllMethods = true
        #expect(try configuration("--retry-all").retry == all)
    }

    @Test(arguments: ["", "-1", "+1", "x", "1.5", "1s", "0x1", " 1", "9223372036854775808"])
    func wrongNumbersOfAttempts(text: String) {
        let error = UsageError("--retry needs a number, 0 for none, not \(text.debugDescription)")
        #expect(Arguments.parse(["--retry", text, "f", Self.url]) == .failure(error))
    }

    @Test(arguments: [
        ("1", 1), ("50000", 50_000), ("1K", 1024), ("500k", 512_000), ("1.5M", 1_572_864), ("2m", 2 << 20),
        ("1G", 1 << 30), ("0.5g", 1 << 29), ("1.9", 1), ("8000000000G", 8_000_000_000 << 30),
    ])
    func rate(text: String, rate: Int64) throws {
        #expect(try configuration("--limit-rate", text).limitRate == rate)
    }

    @Test func demonstration() throws {
        let options = Options(transport: .curl, limitRate: 1024)
        let command = try Arguments.parse(["--demo", "--transport", "curl", "--limit-rate", "1K"]).get()
        #expect(command == .demo(file: nil, options))
    }

    // MARK: Standard input

    @Test func standardInput() throws {
        for arguments in [["-", Self.url], ["-v", "-", Self.url], ["--", "-", Self.url]] {
            let command = try Arguments.parse(arguments).get()
            guard case .send(let sources, let options) = command else { throw UsageError("not an upload: \(command)") }
            #expect(sources.map(\.content) == [.standardInput])
            #expect(sources.map(\.label) == ["-"])
            #expect(sources.map(\.url.absoluteString) == [Self.url])
            #expect(options.method == "PUT")
        }
        #expect(try send("./-", Self.url).sources.map(\.content) == [.file("./-")])
        #expect(try send("-", "http://h/?q").sources.map(\.url.absoluteString) == ["http://h/?q"])
    }

    @Test func jsonFromStandardInput() throws {
        let (sources, options) = try send("--json", "@-", "http://h/")
        #expect(sources.map(\.content) == [.standardInput])
        #expect(options.sendsJSON)
        #expect(options.method == "POST")
        #expect(try send("--json", "@./-", Self.url).sources.map(\.content) == [.file("./-")])
    }

    // MARK: Errors

    @Test(arguments: [
        (["--transport", "wget", "f", url], "--transport is urlsession or curl, not \"wget\""),
        (["--transport", "", "f", url], "--transport is urlsession or curl, not \"\""),
        (["f", url, "--transport"], "--transport needs a value"),
        (["--cacert", "", "f", url], "--cacert needs the name of a file"),
        (["--cert", "", "f", url], "--cert needs the name of a file"),
        (["--key", "", "f", url], "--key needs the name of a file"),
        (["--key", "k.pem", "f", url], "--key needs --cert"),
        (["--insecure=yes", "f", url], "--insecure takes no value"),
        (["--retry-all=yes", "f", url], "--retry-all takes no value"),
        (["f", url, "--retry"], "--retry needs a value"),
        (["--demo", "--retry", "1"], "--retry means nothing to --demo"),
        (["--demo", "--insecure"], "--insecure means nothing to --demo"),
        (["--demo", "--timeout", "1"], "--timeout means nothing to --demo"),
        (["--demo", "-"], "--demo takes a FILE, not standard input"),
        (["-"], "no URL to send - to"),
        (["-", "http://h"], "standard input has no name to append to http://h/"),
        (["-", "http://me:secret@h/d/"], "standard input has no name to append to http://h/d/"),
        (["-", "-", url], "- for standard input goes alone, without other files"),
        (["-", "f", "http://h/"], "- for standard input goes alone, without other files"),
        (["f", "-", url], "- for standard input goes alone, without other files"),
        ([url, "-"], "the URL comes last, after the files"),
        (["--json", "@-", "-", url], "--json takes a URL and no FILE"),
    ])
    func errors(arguments: [String], message: String) {
        #expect(Arguments.parse(arguments) == .failure(UsageError(message)))
    }

    @Test(arguments: ["--timeout", "--stall-timeout", "--connect-timeout"])
    func wrongSeconds(flag: String) {
        for text in ["", "0", "0.0", "-1", "+1", "x", "1s", "1e3", "inf", "nan", "0x10", "1.2.3", ".", "1,5", " 1"] {
            let message = "\(flag) needs a number of seconds above 0, not \(text.debugDescription)"
            #expect(Arguments.parse([flag, text, "f", Self.url]) == .failure(UsageError(message)))
        }
        let endless = String(repeating: "9", count: 400)
        guard case .failure = Arguments.parse([flag, endless, "f", Self.url]) else {
            Issue.record("taken for a number of seconds")
            return
        }
    }

    @Test(arguments: ["", "0", "K", "0.9", "-1", "+1K", "1KB", "1T", "1e3", "0.0001K", "1.5.M", "9000000000G", "1 K"])
    func wrongRates(text: String) {
        let wish = "--limit-rate needs bytes per second, such as 50000, 500K or 1.5M"
        let error = UsageError("\(wish), not \(text.debugDescription)")
        #expect(Arguments.parse(["--limit-rate", text, "f", Self.url]) == .failure(error))
    }
}
