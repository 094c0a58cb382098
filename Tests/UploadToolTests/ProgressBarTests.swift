import AsyncUpload
import Testing

@testable import upload

@Suite struct ProgressBarTests {
    private var bar = ProgressBar(
        label: "movie.mp4",
        fraction: 0.625,
        sent: 1_250_000_000,
        total: 2_000_000_000,
        bytesPerSecond: 84_000_000,
        ending: .remaining(.seconds(9))
    )

    @Test func wide() {
        #expect(
            bar.line(width: 80, unicode: true)
                == "movie.mp4  ██████████████░░░░░░░░░  62 %  1.2 of 2.0 GB  84 MB/s  0:09 left"
        )
        #expect(
            bar.line(width: 80, unicode: false)
                == "movie.mp4  [#############--------]  62 %  1.2 of 2.0 GB  84 MB/s  0:09 left"
        )
    }

    @Test func narrow() {
        #expect(bar.line(width: 50, unicode: true) == "movie.mp4  ██████████░░░░░░░  62 %  1.2 of 2.0 GB")
        #expect(bar.line(width: 40, unicode: true) == "movie.mp4  █████████████░░░░░░░░░  62 %")
        #expect(bar.line(width: 40, unicode: false) == "movie.mp4  [############--------]  62 %")
        #expect(bar.line(width: 20, unicode: true) == "movie.mp4  62 %")
        #expect(bar.line(width: 10, unicode: true) == "mo…4  62 %")
        #expect(bar.line(width: 3, unicode: true) == "62 ")
        #expect(bar.line(width: 0, unicode: true).isEmpty)
    }

    @Test func longLabels() {
        var bar = bar
        bar.label = "1500 of 1500 files"
        #expect(
            bar.line(width: 79, unicode: true)
                == "1500 of 1500 files  ████████░░░░░  62 %  1.2 of 2.0 GB  84 MB/s  0:09 left"
        )
        bar.label = "holidays in the mountains, 2026, third part.mp4"
        #expect(
            bar.line(width: 79, unicode: true)
                == "holidays …part.mp4  ████████░░░░░  62 %  1.2 of 2.0 GB  84 MB/s  0:09 left"
        )
    }

    @Test func endings() {
        var bar = bar
        bar.ending = .waiting
        #expect(bar.line(width: 80, unicode: true).hasSuffix("1.2 of 2.0 GB  waiting for the answer"))
        bar.ending = .note("failed")
        #expect(bar.line(width: 80, unicode: true).hasSuffix("1.2 of 2.0 GB  failed"))
        bar.fraction = 1
        bar.sent = 2_000_000_000
        bar.ending = .took(.milliseconds(23_900))
        #expect(bar.line(width: 80, unicode: true).hasSuffix("█  100 %  2.0 GB  84 MB/s  in 0:23"))
        bar.ending = .remaining(nil)
        #expect(bar.line(width: 80, unicode: true).hasSuffix("84 MB/s"))
    }

    @Test func unknownTotal() {
        var bar = bar
        bar.total = nil
        #expect(bar.line(width: 80, unicode: true) == "movie.mp4  1.2 GB  84 MB/s  0:09 left")
        #expect(bar.line(width: 30, unicode: true) == "movie.mp4  1.2 GB  84 MB/s")
        #expect(bar.line(width: 20, unicode: true) == "movie.mp4  1.2 GB")
    }

    @Test(
        arguments: [
            (79, "movie.mp4  █████████████░░░░░░░░░  62 %  1.2 of 2.0 GB  retrying in 4 s (503)"),
            (60, "movie.mp4  ██████████░░░░░░░  62 %  retrying in 4 s (503)"),
        ]
    )
    func waitBeforeTheNextAttempt(width: Int, line: String) {
        var bar = bar
        bar.ending = .retrying(in: .milliseconds(3_200), reason: "503")
        #expect(bar.line(width: width, unicode: true) == line)
        #expect(bar.line(width: width, unicode: false).hasSuffix("]  " + line.split(separator: "░  ")[1]))
    }

    /// The bar stays as wide as it was, and more of the text is shown where there is more room.
    @Test func waitFits() {
        var waiting = bar
        waiting.ending = .retrying(in: .seconds(12), reason: UploadError(.connectionLostAfterBody).shortDescription)
        var whole = false
        for width in 40...120 {
            let line = waiting.line(width: width, unicode: true)
            #expect(SafeText.width(of: line) <= width)
            let usual = bar.line(width: width, unicode: true)
            #expect(line.filter { "█░".contains($0) }.count == usual.filter { "█░".contains($0) }.count)
            if whole { #expect(line.hasSuffix("  retrying in 12 s (connection lost)")) }
            whole = whole || width >= 79
        }
        waiting.total = nil
        #expect(waiting.line(width: 80, unicode: true) == "movie.mp4  1.2 GB  retrying in 12 s (connection lost)")
        #expect(waiting.line(width: 40, unicode: true) == "movie.mp4  1.2 GB  retrying in 12 s")
        #expect(waiting.line(width: 30, unicode: true) == "movie.mp4  1.2 GB  retrying")
        #expect(waiting.line(width: 20, unicode: true) == "movie.mp4  1.2 GB")
    }

    @Test(
        arguments: [
            (.milliseconds(3_200), "retrying in 4 s"), (.seconds(3), "retrying in 3 s"), (.zero, "retrying soon"),
            (.milliseconds(1), "retrying in 1 s"), (.seconds(99), "retrying in 99 s"),
            (.milliseconds(99_500), "retrying in 1:40"), (.seconds(120), "retrying in 2:00"),
        ] as [(Duration, String)]
    )
    func waits(rest: Duration, text: String) {
        #expect(RetryWords.plan(rest) == text)
    }

    @Test func reasons() {
        #expect(RetryWords.reason("503") == "503")
        #expect(RetryWords.reason(UploadError(.timedOut).shortDescription) == "timed out")
        #expect(RetryWords.reason("\u{1b}ü") == "\\u{1b}?")
        let refusal = UploadError(.unacceptableStatus, response: UploadResponse(statusCode: 429))
        #expect(RetryWords.reason(refusal) == "429")
        #expect(RetryWords.reason(UploadError(.cannotConnect, detail: "x")) == "no connection")
    }

    /// A count down is told once where every drawing stays.
    @Test func countDown() {
        let four = ProgressBar.Ending.retrying(in: .seconds(4), reason: "503")
        let three = ProgressBar.Ending.retrying(in: .seconds(3), reason: "503")
        #expect(three.continues(four))
        #expect(four.continues(four))
        #expect(!four.continues(three))
        #expect(!three.continues(.retrying(in: .seconds(4), reason: "429")))
        #expect(!four.continues(.waiting))
        #expect(!four.continues(nil))
        #expect(!ProgressBar.Ending.waiting.continues(four))
    }

    /// Whatever is in the name, the line has no control character in it and fits.
    @Test(
        arguments: [
            "a", "a b.mp4", "a\nb\r\u{1b}[2Jc\t\u{7f}\u{9b}", "über.mp4", "u\u{308}ber", "映画映画映画映画映画映画映画映画.mp4",
            "👩‍👩‍👧‍👦👍🏽.mp4", "abc\u{202e}4pm", String(repeating: "long-", count: 50), "",
        ],
        [1, 2, 5, 8, 12, 20, 27, 33, 40, 55, 79, 80, 132, 400]
    )
    func fits(name: String, width: Int) {
        for unicode in [true, false] {
            for total in [0, 1, 999_999, 1_000_000, 123_456_789_012, Int64.max, nil] {
                for ending in [
                    .remaining(.seconds(360_000)), .waiting, .took(.seconds(1)), .note("123 failed"),
                    .retrying(in: .seconds(119), reason: UploadError(.stalled).shortDescription), .someRetrying(1234),
                ] as [ProgressBar.Ending] {
                    let bar = ProgressBar(
                        label: name,
                        fraction: 0.5,
                        sent: (total ?? 1_000_000) / 2,
                        total: total,
                        bytesPerSecond: 999_999_999,
                        ending: ending
                    )
                    let line = bar.line(width: width, unicode: unicode)
                    #expect(SafeText.width(of: line) <= width, "\(line)")
                    #expect(SafeText.escaped(line) == line)
                    if !unicode { #expect(line.utf8.allSatisfy { (0x20...0x7e).contains($0) }) }
                }
            }
        }
    }

    /// The bar itself does not move while the numbers change.
    @Test func keepsItsWidth() {
        for width in [40, 60, 80, 120] {
            var widths: Set<Int> = []
            for percent in 0...100 {
                var bar = bar
                bar.fraction = Double(percent) / 100
                bar.sent = Int64(percent) * 20_000_000
                bar.bytesPerSecond = Double(percent * percent) * 99_999
                bar.ending = percent == 100 ? .waiting : .remaining(.seconds(400 - 4 * percent))
                widths.insert(bar.line(width: width, unicode: true).filter { "█░".contains($0) }.count)
            }
            #expect(widths.count == 1)
        }
    }

    @Test func neverSaysAllBeforeItIs() {
        var bar = bar
        bar.fraction = 0.99999
        #expect(bar.line(width: 80, unicode: true).contains("  99 %"))
    }

    @Test(arguments: [
        (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (99_949, "99.9 kB"), (99_950, "100 kB"), (999_499, "999 kB"),
        (999_500, "1.0 MB"), (67_108_864, "67.1 MB"), (Int64.max, "9.2 EB"),
    ])
    func bytes(count: Int64, text: String) {
        #expect(Quantity.bytes(count) == text)
    }

    @Test func rates() {
        #expect(Quantity.rate(0) == "0 B/s")
        #expect(Quantity.rate(9_940) == "9.9 kB/s")
        #expect(Quantity.rate(9_960) == "10 kB/s")
        #expect(Quantity.rate(999_600) == "1.0 MB/s")
        #expect(Quantity.rate(.nan) == "0 B/s")
        #expect(Quantity.rate(.infinity) == "0 B/s")
    }

    @Test func times() {
        #expect(Quantity.timeLeft(.zero) == "0:00")
        #expect(Quantity.timeLeft(.milliseconds(8_100)) == "0:09")
        #expect(Quantity.timeLeft(.seconds(3599)) == "59:59")
        #expect(Quantity.timeLeft(.seconds(3661)) == "1:01:01")
        #expect(Quantity.timeLeft(.seconds(100 * 3600)) == "4 days")
        #expect(Quantity.timeTaken(.milliseconds(1_178)) == "1.2 s")
        #expect(Quantity.timeTaken(.milliseconds(9_960)) == "0:09")
        #expect(Quantity.timeTaken(.seconds(65)) == "1:05")
    }

    @Test func shortening() {
        #expect(SafeText.shortened("abcdefgh", to: 8, ellipsis: "…") == "abcdefgh")
        #expect(SafeText.shortened("abcdefgh", to: 5, ellipsis: "…") == "ab…gh")
        #expect(SafeText.shortened("abcdefgh", to: 2, ellipsis: "...") == "..")
        #expect(SafeText.shortened("映画映画映画", to: 6, ellipsis: "…") == "映…画")
    }

    @Test func locale() {
        #expect(Platform.isUTF8(["LANG": "en_US.UTF-8"]))
        #expect(Platform.isUTF8(["LANG": "C", "LC_CTYPE": "de_DE.utf8"]))
        #expect(!Platform.isUTF8(["LANG": "en_US.UTF-8", "LC_ALL": "C"]))
        #expect(Platform.isUTF8(["LANG": "en_US.UTF-8", "LC_ALL": ""]))
        #expect(!Platform.isUTF8([:]))
    }
}

@Suite struct ProgressTallyTests {
    private let start = ContinuousClock.now

    private func snapshot(_ sent: Int64, of total: Int64?, attempt: Int = 1) -> UploadProgress {
        let fraction = total.map { Double(sent) / Double($0) } ?? 0
        return UploadProgress(fraction: fraction, bytesSent: sent, totalBytes: total, attempt: attempt)
    }

    @Test func oneFile() {
        var tally = ProgressTally(labels: ["f"], sizes: [1000], at: start)
        var bar = tally.bar([snapshot(0, of: nil)], at: start)
        #expect(bar.label == "f")
        #expect(bar.fraction == 0)
        #expect(bar.total == 1000)
        bar = tally.bar([snapshot(500, of: 1000)], at: start + .seconds(1))
        #expect(bar.fraction == 0.5)
        #expect(bar.bytesPerSecond == 500)
        #expect(bar.ending == .remaining(.seconds(1)))
        bar = tally.bar([snapshot(1000, of: 1000)], at: start + .seconds(2))
        #expect(bar.fraction == 1)
        #expect(bar.ending == .waiting)
        tally.ended(0, .accepted)
        let end = tally.finalBar([snapshot(1000, of: 1000)], took: .seconds(4), at: start + .seconds(5))
        #expect(end?.ending == .took(.seconds(4)))
        #expect(end?.bytesPerSecond == 250)
    }

    @Test func severalFiles() {
        var tally = ProgressTally(labels: ["a", "b", "c"], sizes: [100, 300, 0], at: start)
        tally.ended(0, .accepted)
        tally.ended(2, .failed)
        let snapshots = [snapshot(100, of: 100), snapshot(150, of: 300), snapshot(0, of: nil)]
        let bar = tally.bar(snapshots, at: start + .seconds(1))
        #expect(bar.label == "1 of 3 files, 1 failed")
        #expect(bar.fraction == 0.625)
        #expect(bar.total == 400)
        tally.ended(1, .accepted)
        let end = tally.finalBar(
            [snapshots[0], snapshot(300, of: 300), snapshots[2]],
            took: nil,
            at: start + .seconds(2)
        )
        #expect(end?.label == "2 of 3 files")
        #expect(end?.fraction == 1)
        #expect(end?.ending == .note("1 failed"))
    }

    @Test func oneFileThatWaits() {
        var tally = ProgressTally(labels: ["f"], sizes: [1000], at: start)
        var waiting = snapshot(1000, of: 1000)
        (waiting.retryingIn, waiting.retryReason) = (.seconds(2), "503")
        #expect(tally.bar([waiting], at: start).ending == .retrying(in: .seconds(2), reason: "503"))
        tally.ended(0, .failed)
        #expect(tally.finalBar([waiting], took: nil, at: start)?.ending == .note("failed"))
    }

    @Test func someFilesThatWait() {
        var tally = ProgressTally(labels: ["a", "b", "c"], sizes: [100, 300, 500], at: start)
        let waiting = UploadProgress(bytesSent: 0, totalBytes: 300, retryingIn: .zero, retryReason: "503")
        let bar = tally.bar([snapshot(100, of: 500), waiting, waiting], at: start + .seconds(1))
        #expect(bar.ending == .someRetrying(2))
        #expect(bar.line(width: 80, unicode: true).hasPrefix("0 of 3 files  █"))
        #expect(bar.line(width: 80, unicode: true).hasSuffix("  100 B/s  2 retrying"))
        #expect(bar.line(width: 20, unicode: true) == "0 of 3 files  9 %")
        tally.ended(1, .failed)
        tally.ended(2, .failed)
        #expect(tally.bar([snapshot(500, of: 500), waiting, waiting], at: start + .seconds(2)).ending == .waiting)
    }

    /// The bar does not go back; the bytes and the time left tell how it is.
    @Test func sentAgain() {
        var tally = ProgressTally(labels: ["f"], sizes: [1000], at: start)
        _ = tally.bar([snapshot(1000, of: 1000)], at: start + .seconds(1))
        let again = UploadProgress(fraction: 1, bytesSent: 250, totalBytes: 1000, attempt: 2)
        let bar = tally.bar([again], at: start + .seconds(2))
        #expect(bar.fraction == 1)
        #expect(bar.sent == 250)
        #expect(bar.ending == .remaining(.seconds(1.2)))
    }

    /// Half a number would be another number; a name may be shortened.
    @Test func countsStayWhole() {
        let labels = (0..<1500).map { "\($0)" }
        var tally = ProgressTally(labels: labels, sizes: labels.map { _ in 100 }, at: start)
        for index in labels.indices.dropLast() { tally.ended(index, index < 12 ? .failed : .accepted) }
        let snapshots = labels.map { _ in snapshot(100, of: 100) }
        let bar = tally.bar(snapshots, at: start + .seconds(1))
        for width in 40...120 {
            #expect(bar.line(width: width, unicode: true).hasPrefix("1487 of 1500 files, 12 failed  "), "\(width)")
        }
    }

    @Test func stallShows() {
        var tally = ProgressTally(labels: ["f"], sizes: [1000], at: start)
        var bar = tally.bar([snapshot(500, of: 1000)], at: start + .seconds(1))
        for second in 2...6 { bar = tally.bar([snapshot(500, of: 1000)], at: start + .seconds(second)) }
        #expect(bar.bytesPerSecond == 0)
        #expect(bar.ending == .remaining(nil))
    }

    @Test func startingOverDoesNotBreakTheRate() {
        var tally = ProgressTally(labels: ["f"], sizes: [1000], at: start)
        _ = tally.bar([snapshot(600, of: 1000)], at: start + .seconds(1))
        let bar = tally.bar([snapshot(200, of: 1000, attempt: 2)], at: start + .seconds(2))
        #expect(bar.bytesPerSecond == 400)
    }

    @Test func failuresAndStops() {
        var tally = ProgressTally(labels: ["f"], sizes: [1000], at: start)
        #expect(tally.finalBar([snapshot(0, of: 1000)], took: nil, at: start)?.ending == .note("stopped"))
        tally.ended(0, .failed)
        #expect(tally.finalBar([snapshot(0, of: 1000)], took: nil, at: start) == nil)
        #expect(tally.finalBar([snapshot(10, of: 1000)], took: nil, at: start)?.ending == .note("failed"))
    }

    @Test func unknownSize() {
        var tally = ProgressTally(labels: ["-"], sizes: [nil], at: start)
        var bar = tally.bar([snapshot(0, of: nil)], at: start)
        #expect(bar.line(width: 80, unicode: true) == "-  0 B  0 B/s")
        bar = tally.bar([snapshot(2000, of: nil)], at: start + .seconds(1))
        #expect(bar.total == nil)
        #expect(bar.ending == .remaining(nil))
        #expect(bar.line(width: 80, unicode: true) == "-  2.0 kB  2.0 kB/s")
        let end = UploadProgress(fraction: 1, bytesSent: 4000)
        bar = tally.bar([end], at: start + .seconds(2))
        #expect(bar.line(width: 80, unicode: true) == "-  4.0 kB  waiting for the answer")
        tally.ended(0, .accepted)
        bar = tally.finalBar([end], took: .seconds(2), at: start + .seconds(2)) ?? bar
        #expect(bar.line(width: 80, unicode: true) == "-  4.0 kB  2.0 kB/s  in 2.0 s")
    }

    @Test func oneUnknownSizeAmongOthers() {
        var tally = ProgressTally(labels: ["a", "b"], sizes: [1000, nil], at: start)
        let bar = tally.bar([snapshot(500, of: 1000), snapshot(700, of: nil)], at: start + .seconds(1))
        #expect(bar.total == nil)
        #expect(bar.sent == 1200)
        #expect(bar.fraction == 0)
    }

    @Test func emptyFile() {
        var tally = ProgressTally(labels: ["f"], sizes: [0], at: start)
        #expect(tally.bar([UploadProgress(totalBytes: 0)], at: start).fraction == 0)
        #expect(tally.bar([UploadProgress(fraction: 1, totalBytes: 0)], at: start).fraction == 1)
    }
}
