import Foundation
import Testing

@testable import Benchmarks

@Suite struct ReportFilesTests {
    @Test func readBackItIsTheSame() throws {
        let report = Report.sample([.sample, .single, .growth([(1 << 40, [1, 0.1])])])
        let url = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: url) }
        try Data("old".utf8).write(to: url)
        try report.write(to: url)
        // The description has all that a report holds.
        #expect(try String(describing: Report(contentsOf: url)) == String(describing: report))
        #expect(try Data(contentsOf: url) == report.json)
    }

    @Test func forPeopleAndForDifferences() throws {
        let text = try String(decoding: Report(command: "a/b", machine: "m").json, as: UTF8.self)
        #expect(text.contains("\n  \"command\" : \"a/b\",\n  \"machine\" : \"m\",\n  \"sections\" : ["))
        #expect(text.hasSuffix("}\n"))
    }

    @Test(arguments: [Double.infinity, -.infinity, .nan])
    func oddFiguresCostNothingElse(value: Double) throws {
        var section = Report.Section.single
        section.rows[0].rounds.append(Measurement(seconds: value))
        let read = try Report(json: Report.sample([section]).json)
        #expect(String(describing: read) == String(describing: Report.sample([section])))
        #expect(read.sections[0].rows[0].rounds[0].nanoseconds == 42.5)
    }

    @Test func otherFilesAreErrors() {
        #expect(throws: DecodingError.self) { try Report(json: Data("{}".utf8)) }
        #expect(throws: (any Error).self) { try Report(contentsOf: URL(filePath: "/nowhere/report.json")) }
    }
}
