import Testing

@testable import Benchmarks

@Suite struct NumbersTests {
    @Test(arguments: [
        (0, "0"), (0.001234, "0.00123"), (0.5, "0.500"), (1.024, "1.02"), (9.994, "9.99"), (9.996, "10.0"),
        (99.94, "99.9"), (99.96, "100"), (1234.4, "1234"), (-1.5, "-1.50"), (.infinity, "inf"), (.nan, "nan"),
    ])
    func threeDigits(value: Double, text: String) {
        #expect(value.shortText == text)
    }

    @Test func asWritten() {
        #expect(0.95.plainText == "0.95")
        #expect(16.0.plainText == "16")
        #expect(100.0.plainText == "100")
    }

    @Test func spreadsHaveTheDigitsOfTheirMedian() {
        #expect(Spread([11.9, 12.34, 130]).shortText == "12.3 (11.9..130.0)")
        #expect(Spread([1200, 1234.2, 1300]).shortText == "1234 (1200..1300)")
    }

    @Test func equalValuesAreNoSpread() {
        #expect(Spread([3, 3]).shortText == "3.00")
        #expect(Spread([1.5]).ratioText == "x 1.50")
    }

    @Test func ratios() {
        #expect(Spread([0.98, 1.02, 1.1]).ratioText == "x 1.02 (0.98..1.10)")
        #expect(Spread([0.9, 0.98, 1.1]).ratioText == "x 0.98 (0.90..1.10)")
        #expect(Spread([0.03, 0.05, 0.06]).ratioText == "x 0.050 (0.030..0.060)")
        #expect(Spread([10, 12.34, 15]).ratioText == "x 12.3 (10.0..15.0)")
    }

    /// Wherever sorting would put it.
    @Test(arguments: [[.nan, 1, 2], [1, .nan, 2], [1, 2, .nan], [.nan], []])
    func whatIsNoNumberSpreads(values: [Double]) {
        let spread = Spread(values)
        #expect(spread.median.isNaN && spread.least.isNaN && spread.most.isNaN)
        #expect(!spread.isFinite)
    }

    @Test func infinityIsNotFinite() {
        #expect(!Spread([1, 2, .infinity]).isFinite)
        #expect(!Spread([-.infinity, 2, 3]).isFinite)
        #expect(Spread([1, 2, 3]).isFinite)
    }

    @Test(
        arguments: [
            (1, "1 bytes"), (1023, "1023 bytes"), (1 << 20, "1 MiB"), (64 << 20, "64 MiB"), (1 << 30, "1 GiB"),
            (3 << 29, "1.5 GiB"), (1_000_000, "977 KiB"), (1023 << 30, "1023 GiB"), (1 << 52, "4096 TiB"),
        ] as [(Int64, String)]
    )
    func sizes(bytes: Int64, text: String) {
        #expect(bytes.binarySizeText == text)
    }
}
