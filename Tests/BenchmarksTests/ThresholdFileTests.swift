import Foundation
import Testing

@testable import Benchmarks

@Suite struct ThresholdFileTests {
    private static let valid = """
        {"section": "s", "row": "a", "figure": "seconds", "atMost": 1, "why": "w"}
        """

    private func load(_ json: String) throws -> [Threshold] {
        let url = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: url) }
        try Data(json.utf8).write(to: url)
        return try Thresholds.load(from: url).entries
    }

    @Test func everyKindOfLimit() throws {
        let entries = try load(
            """
            [
                {
                    "section": "s", "row": "a", "to": "b", "figure": "processMegabytesPerSecond", "ratioAtLeast": 0.95,
                    "why": "w"
                },
                {
                    "section": "s", "row": "a", "to": "b", "figure": "seconds", "ratioAtMost": 2, "optional": true,
                    "why": "w"
                },
                {
                    "section": "s", "row": "a", "to": "b", "figure": "seconds", "differenceAtMost": -1,
                    "optional": false, "why": "w"
                },
                {"section": "s", "row": "a", "figure": "peakMebibytes", "atMost": 0, "why": "w"}
            ]
            """
        )
        #expect(
            entries == [
                Threshold(
                    section: "s",
                    row: "a",
                    figure: .processMegabytesPerSecond,
                    limit: .ratioAtLeast(0.95, to: "b"),
                    why: "w"
                ),
                Threshold(
                    section: "s",
                    row: "a",
                    figure: .seconds,
                    limit: .ratioAtMost(2, to: "b"),
                    why: "w",
                    isOptional: true
                ),
                Threshold(section: "s", row: "a", figure: .seconds, limit: .differenceAtMost(-1, to: "b"), why: "w"),
                Threshold(section: "s", row: "a", figure: .peakMebibytes, limit: .atMost(0), why: "w"),
            ]
        )
        #expect(try JSONDecoder().decode([Threshold].self, from: JSONEncoder().encode(entries)) == entries)
    }

    @Test(arguments: [
        (#""figure": "seconds", "ratioAtLaest": 1, "atMost": 1, "why": "w""#, "unknown key ratioAtLaest"),
        (#""figure": "seconds", "atMost": 1, "optionl": true, "why": "w""#, "unknown key optionl"),
        (#""figure": "seconds", "why": "w""#, "exactly one of ratioAtLeast, ratioAtMost, differenceAtMost, atMost"),
        (#""figure": "seconds", "to": "b", "ratioAtMost": 1, "atMost": 1, "why": "w""#, "exactly one of ratioAtLeast"),
        (#""figure": "seconds", "ratioAtLeast": 1, "why": "w""#, "ratioAtLeast needs \"to\""),
        (#""figure": "seconds", "ratioAtMost": 1, "why": "w""#, "ratioAtMost needs \"to\""),
        (#""figure": "seconds", "differenceAtMost": 1, "why": "w""#, "differenceAtMost needs \"to\""),
        (#""figure": "seconds", "to": "b", "atMost": 1, "why": "w""#, "atMost compares with nothing"),
        (#""figure": "seconds", "to": "a", "ratioAtMost": 1, "why": "w""#, "a is compared with itself"),
        (#""figure": "seconds", "to": "b", "ratioAtLeast": 0, "why": "w""#, "ratioAtLeast cannot be 0"),
        (#""figure": "seconds", "to": "b", "ratioAtMost": -1, "why": "w""#, "ratioAtMost cannot be -1"),
        (#""figure": "seconds", "atMost": -0.5, "why": "w""#, "atMost cannot be -0.5"),
        (#""figure": "seconds", "atMost": null, "why": "w""#, "atMost: "),
        (#""figure": "seconds", "atMost": "1", "why": "w""#, "atMost: "),
        (#""figure": "secs", "atMost": 1, "why": "w""#, "figure: "),
        (#""atMost": 1, "why": "w""#, "figure is missing"),
        (#""figure": "seconds", "atMost": 1"#, "why is missing"),
    ])
    func mistakesSayWhereTheyAre(entry: String, message: String) throws {
        let json = "[\(Self.valid), {\"section\": \"s\", \"row\": \"a\", \(entry)}, \(Self.valid)]"
        let failure = try #require(throws: Failure.self) { try load(json) }
        #expect(failure.description.contains(".json: entry 2: \(message)"), "\(failure)")
    }

    @Test(arguments: [("[]", "there is no threshold"), ("[", ""), ("{}", ""), ("[1]", "entry 1: ")])
    func otherFiles(json: String, message: String) throws {
        let failure = try #require(throws: Failure.self) { try load(json) }
        #expect(failure.description.contains(".json: \(message)"), "\(failure)")
    }

    @Test func missingFile() {
        #expect(throws: (any Error).self) { try Thresholds.load(from: URL(filePath: "/nowhere/thresholds.json")) }
    }
}
