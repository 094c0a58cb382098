import AsyncUpload
import Foundation
import Testing

@testable import upload

@Suite struct ResumableArgumentTests {
    private static let url = "http://h/x"
    private static let gcs = "http://h/upload/storage/v1/b/b/o?uploadType=resumable"

    private func send(_ arguments: String...) throws -> (sources: [Source], options: Options) {
        let command = try Arguments.parse(arguments).get()
        guard case .send(let sources, let options) = command else { throw UsageError("\(command)") }
        return (sources, options)
    }

    private func urls(_ arguments: String...) throws -> [String] {
        let command = try Arguments.parse(["--resumable"] + arguments).get()
        guard case .send(let sources, _) = command else { throw UsageError("\(command)") }
        return sources.map(\.url.absoluteString)
    }

    @Test func options() throws {
        let (_, options) = try send("--resumable", "ietf", "--state", "d", "f", Self.url)
        #expect(options.resumable == .ietf)
        #expect(options.state == "d")
        #expect(try send("f", Self.url).options.resumable == nil)
        let file = try send("--resumable", "s3", "--part-urls", "@u.json", "f", Self.url).options
        #expect(file.partURLs == .file("u.json"))
        let command = try send("--resumable=s3", "--part-urls=sign $1", "f", Self.url).options
        #expect(command.partURLs == .command("sign $1"))
    }

    @Test(arguments: [
        (["tus"], "POST"), (["gcs"], "POST"), (["ietf"], "PUT"), (["s3", "--part-urls", "x"], "PUT"),
        (["ietf", "-X", "PATCH"], "PATCH"),
    ])
    func method(arguments: [String], method: String) throws {
        let command = try Arguments.parse(["--resumable"] + arguments + ["f", Self.gcs]).get()
        guard case .send(_, let options) = command else { throw UsageError("\(command)") }
        #expect(options.method == method)
    }

    @Test func targets() throws {
        #expect(try urls("tus", "f", "http://h/files/") == ["http://h/files/"])
        #expect(try urls("tus", "f", "g", Self.url) == [Self.url, Self.url])
        #expect(try urls("tus", "-", "http://h/files/") == ["http://h/files/"])
        #expect(try urls("tus", "-d", "x", "http://h/") == ["http://h/"])
        #expect(try urls("ietf", "f", "g", "http://h/") == ["http://h/f", "http://h/g"])
        #expect(try urls("gcs", "a/f g", "h", Self.gcs) == [Self.gcs + "&name=f%20g", Self.gcs + "&name=h"])
        #expect(try urls("gcs", "f", Self.gcs + "&name=x") == [Self.gcs + "&name=x"])
        #expect(try urls("gcs", "f", "http://h/signed?x=1") == ["http://h/signed?x=1"])
        #expect(try urls("gcs", "-", Self.gcs + "&name=x") == [Self.gcs + "&name=x"])
        #expect(try urls("s3", "--part-urls", "x", "f", "http://h/") == ["http://h/"])
    }

    @Test(arguments: [
        (["--resumable", "ftp", "f", url], "--resumable is tus, ietf, gcs or s3, not \"ftp\""),
        (["--resumable", "TUS", "f", url], "--resumable is tus, ietf, gcs or s3, not \"TUS\""),
        (["--state", "d", "f", url], "--state needs --resumable"),
        (["--resumable", "tus", "--state", "", "f", url], "--state needs the name of a folder"),
        (["--part-urls", "x", "f", url], "--part-urls needs --resumable s3"),
        (["--resumable", "tus", "--part-urls", "x", "f", url], "--part-urls means nothing to tus"),
        (["--resumable", "s3", "f", url], "--resumable s3 needs --part-urls"),
        (["--resumable", "s3", "--part-urls", "", "f", url], "--part-urls needs @FILE or a command"),
        (["--resumable", "s3", "--part-urls", "@", "f", url], "--part-urls @ needs a path"),
        (
            ["--resumable", "s3", "--part-urls", "x", "f", "g", url],
            "--resumable s3 takes one FILE: a presigned URL is that of one object"
        ),
        (
            ["--resumable", "gcs", "f", "g", gcs + "&name=x"],
            "several files need a URL with uploadType=resumable and without name= with --resumable gcs"
        ),
        (["--resumable", "gcs", "-", gcs], "what is no file needs name=OBJECT in the URL with --resumable gcs"),
        (["--resumable", "gcs", "-d", "x", gcs], "what is no file needs name=OBJECT in the URL with --resumable gcs"),
        (["--resumable", "ietf", "f", "g", url], "several files need a URL that ends in /"),
        (["--resumable", "tus", "f", "f", url], "f is named twice"),
        (
            ["--resumable", "tus", "-X", "PUT", "f", url],
            "-X means nothing to --resumable tus, which has methods of its own"
        ),
        (["--demo", "--resumable", "tus"], "--resumable means nothing to --demo"),
    ])
    func errors(arguments: [String], message: String) {
        #expect(Arguments.parse(arguments) == .failure(UsageError(message)))
    }

    @Test func parts() {
        #expect(PartPlan.size(length: 18 << 20, parts: 4) == 5 << 20)
        #expect(PartPlan.size(length: 100 << 20, parts: 3) == 34 << 20)
        #expect(PartPlan.size(length: 1, parts: 100) == 5 << 20)
        #expect(PartPlan.suitable(length: 0) == (8 << 20, 1))
        #expect(PartPlan.suitable(length: 16 << 20 + 1) == (8 << 20, 3))
        let large = PartPlan.suitable(length: 1 << 40)
        #expect(large.count <= 10_000)
        #expect(large.size % (1 << 20) == 0)
    }

    @Test func bytesThatWereThereDoNotCountForTheRate() {
        let start = ContinuousClock.now
        var tally = ProgressTally(labels: ["f"], sizes: [1_000_000], at: start)
        tally.resumed(0)
        let there = UploadProgress(fraction: 0.5, bytesSent: 500_000, totalBytes: 1_000_000)
        let bar = tally.bar([there], at: start + .seconds(1))
        #expect(bar.fraction == 0.5)
        #expect(bar.bytesPerSecond == 0)
        let more = UploadProgress(fraction: 0.6, bytesSent: 600_000, totalBytes: 1_000_000)
        #expect(tally.bar([more], at: start + .seconds(2)).bytesPerSecond == 50_000)
        let end = tally.finalBar([more], took: .seconds(2), at: start + .seconds(2))
        #expect(end?.bytesPerSecond == 50_000)
    }
}
