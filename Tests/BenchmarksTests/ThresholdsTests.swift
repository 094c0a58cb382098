import Testing

@testable import Benchmarks

@Suite struct ThresholdsTests {
    /// Of `file-1GiB`, where curl is x 1.00 (0.50..1.00) of AsyncUpload in MB/s, and has peaks of 9 MiB to its 21.
    private func verdict(
        _ limit: Threshold.Limit,
        of row: String = "AsyncUpload",
        _ figure: Figure = .peakMebibytes,
        margin: Double = 1,
        section: String = "file-1GiB",
        isOptional: Bool = false,
        in sections: [Report.Section] = [.sample]
    ) throws -> Verdict {
        let threshold = Threshold(
            section: section,
            row: row,
            figure: figure,
            limit: limit,
            why: "Because.",
            isOptional: isOptional
        )
        let verdicts = Thresholds(entries: [threshold]).check(.sample(sections), margin: margin)
        #expect(verdicts.map(\.threshold) == [threshold])
        return try #require(verdicts.first)
    }

    // MARK: Limits

    /// AsyncUpload's peaks are x 2.22, x 2.44 and x 2.33 of curl's, 11, 13 and 12 MiB more, and 21 MiB.
    @Test(
        arguments: [
            (.ratioAtLeast(7.0 / 3, to: "curl"), .holds), (.ratioAtLeast(2.334, to: "curl"), .broken),
            (.ratioAtMost(7.0 / 3, to: "curl"), .holds), (.ratioAtMost(2.333, to: "curl"), .broken),
            (.differenceAtMost(12, to: "curl"), .holds), (.differenceAtMost(11.999, to: "curl"), .broken),
            (.atMost(21), .holds), (.atMost(20.999), .broken),
        ] as [(Threshold.Limit, Verdict.Outcome)]
    )
    func atTheLimitAndBeyond(limit: Threshold.Limit, outcome: Verdict.Outcome) throws {
        let verdict = try verdict(limit)
        #expect(verdict.outcome == outcome, "\(verdict)")
        #expect(verdict.isFailure == (outcome == .broken))
    }

    @Test(
        arguments: [
            (.ratioAtLeast(3.5, to: "curl"), 1.5, .holds), (.ratioAtLeast(3.5, to: "curl"), 1.49, .broken),
            (.ratioAtMost(7.0 / 6, to: "curl"), 2, .holds), (.ratioAtMost(7.0 / 6, to: "curl"), 1.99, .broken),
            (.differenceAtMost(8, to: "curl"), 1.5, .holds), (.differenceAtMost(8, to: "curl"), 1.49, .broken),
            (.atMost(14), 1.5, .holds), (.atMost(14), 1.49, .broken),
        ] as [(Threshold.Limit, Double, Verdict.Outcome)]
    )
    func marginsLoosen(limit: Threshold.Limit, margin: Double, outcome: Verdict.Outcome) throws {
        #expect(try verdict(limit).outcome == .broken)
        #expect(try verdict(limit, margin: margin).outcome == outcome)
    }

    /// curl has 12 MiB less.
    @Test func marginsLoosenWhatMustBeLess() throws {
        let limit = Threshold.Limit.differenceAtMost(-24, to: "AsyncUpload")
        #expect(try verdict(limit, of: "curl").outcome == .broken)
        #expect(try verdict(limit, of: "curl", margin: 2).outcome == .holds)
        #expect(try verdict(limit, of: "curl", margin: 1.99).outcome == .broken)
    }

    /// The ratio of the medians would be x 0.80.
    @Test func ratiosAreOfRounds() throws {
        let limit = Threshold.Limit.ratioAtLeast(1, to: "AsyncUpload")
        #expect(try verdict(limit, of: "curl", .megabytesPerSecond).outcome == .holds)
    }

    // MARK: What is missing

    @Test func missingRowsFail() throws {
        let row = try verdict(.atMost(1), of: "wget")
        #expect(row.outcome == .notMeasured(reason: "there is no row wget"))
        #expect(row.isFailure)
        #expect(row.description == "MISSING file-1GiB: wget peakMebibytes: there is no row wget: Because.")
        let other = try verdict(.ratioAtMost(1, to: "wget"))
        #expect(other.outcome == .notMeasured(reason: "there is no row wget"))
    }

    @Test func optionalRowsMayBeMissing() throws {
        let row = try verdict(.atMost(1), of: "wget", isOptional: true)
        #expect(row.outcome == .skipped(reason: "there is no row wget"))
        #expect(!row.isFailure)
        #expect(row.description == "skipped file-1GiB: wget peakMebibytes: there is no row wget")
        let other = try verdict(.ratioAtMost(1, to: "wget"), isOptional: true)
        #expect(other.outcome == .skipped(reason: "there is no row wget"))
        #expect(try verdict(.atMost(1), isOptional: true).outcome == .broken)
    }

    @Test(arguments: [false, true])
    func missingSectionsFail(isOptional: Bool) throws {
        let verdict = try verdict(.atMost(1), section: "tls", isOptional: isOptional)
        #expect(verdict.outcome == .notMeasured(reason: "there is no such section"))
        #expect(verdict.isFailure)
    }

    @Test(arguments: [.atMost(1), .ratioAtMost(1, to: "curl"), .differenceAtMost(1, to: "curl")] as [Threshold.Limit])
    func missingFiguresFail(limit: Threshold.Limit) throws {
        let verdict = try verdict(limit, of: "requests", isOptional: true)
        #expect(verdict.outcome == .notMeasured(reason: "no round tells"))
        #expect(verdict.isFailure)
    }

    // MARK: What is no number

    @Test(arguments: [[.nan], [1, .nan, 2], [.infinity], [1, 2, .infinity], [-.infinity, 1, 2]] as [[Double]])
    func oddFiguresBreakEveryLimit(values: [Double]) throws {
        let odd = Report.Row(name: "odd", rounds: values.map { Measurement(nanoseconds: $0) })
        let even = Report.Row(name: "even", rounds: values.map { _ in Measurement(nanoseconds: 1) })
        let section = Report.Section(name: "s", title: "t", shows: [], rows: [odd, even])
        let limits: [Threshold.Limit] = [
            .atMost(1e9), .ratioAtMost(1e9, to: "even"), .ratioAtLeast(1e-9, to: "even"),
            .differenceAtMost(1e9, to: "even"),
        ]
        for limit in limits {
            let verdict = try verdict(limit, of: "odd", .nanoseconds, margin: 100, section: "s", in: [section])
            #expect(verdict.outcome == .broken, "\(verdict)")
        }
    }

    @Test func nothingOverNothingIsBroken() throws {
        let zero = [Measurement(nanoseconds: 0)]
        let rows = [Report.Row(name: "a", rounds: zero), Report.Row(name: "b", rounds: zero)]
        let section = Report.Section(name: "s", title: "t", shows: [], rows: rows)
        let verdict = try verdict(.ratioAtMost(2, to: "b"), of: "a", .nanoseconds, section: "s", in: [section])
        #expect(verdict.outcome == .broken)
        #expect(verdict.description == "BROKEN  s: a nanoseconds is x nan of b, at most 2: Because.")
    }

    // MARK: Lines

    @Test func lines() throws {
        let ratio = try verdict(.ratioAtLeast(0.95, to: "AsyncUpload"), of: "curl", .megabytesPerSecond)
        #expect(
            "\(ratio)"
                == "ok      file-1GiB: curl megabytesPerSecond is x 1.00 (0.50..1.00) of AsyncUpload, at least 0.95"
        )
        let less = try verdict(.ratioAtMost(0.5, to: "AsyncUpload"), of: "curl")
        #expect("\(less)".hasSuffix("curl peakMebibytes is x 0.43 (0.41..0.45) of AsyncUpload, at most 0.5"))
        let difference = try verdict(.differenceAtMost(8, to: "curl"))
        #expect(
            "\(difference)"
                == "BROKEN  file-1GiB: AsyncUpload peakMebibytes is 12.0 (11.0..13.0) more than curl, at most 8: Because."
        )
        let loose = try verdict(.atMost(16), margin: 1.5)
        #expect(
            "\(loose)"
                == "ok      file-1GiB: AsyncUpload peakMebibytes is 21.0 (20.0..22.0), at most 24.0 (16, margin 1.5)"
        )
    }

    @Test func brokenByLessThanIsUsuallyShown() throws {
        let verdict = try verdict(.atMost(20.996))
        #expect(verdict.description.contains("is 21.000 (20.000..22.000), at most 20.996"))
    }

    @Test func oneFailureIsEnough() throws {
        let holds = try verdict(.atMost(100))
        let skipped = try verdict(.atMost(1), of: "wget", isOptional: true)
        #expect([holds, skipped].allHold)
        #expect(try ![holds, skipped, verdict(.atMost(1))].allHold)
        #expect(try ![verdict(.atMost(1), of: "wget"), holds].allHold)
    }

    @Test func marginsBelowOneAreAMistake() async {
        await #expect(processExitsWith: .failure) {
            _ = Thresholds(entries: []).check(.sample([]), margin: 0.9)
        }
        await #expect(processExitsWith: .failure) {
            _ = Thresholds(entries: []).check(.sample([]), margin: .infinity)
        }
    }
}
