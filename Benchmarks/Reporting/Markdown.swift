/// A report for a README.
struct Markdown {
    private let report: Report

    init(of report: Report) {
        self.report = report
    }

    /// With a line break at the end, as of a file.
    var text: String {
        let origin = "\(Self.codeSpan(report.command)) on \(Self.line(report.machine))"
        return ([origin] + report.sections.flatMap(Self.paragraphs)).joined(separator: "\n\n") + "\n"
    }

    private static func paragraphs(of section: Report.Section) -> [String] {
        let rule = section.headings.indices.map { $0 == 0 ? "---" : "---:" }
        let cells = section.cells { spread, _ in spread.median.shortText }
        let rows = [section.headings.map(cell), rule] + cells.map { $0.map(cell) }
        let table = rows.map { "| \($0.joined(separator: " | ")) |" }.joined(separator: "\n")
        return ["**\(line(section.title))**", table] + section.notes.map(line)
    }

    /// A bar would end the cell, and a line break the table. The others would make something else of the text.
    private static func cell(_ text: String) -> String {
        var escaped = ""
        for character in line(text) {
            if #"\|*`<"#.contains(character) { escaped.append("\\") }
            escaped.append(character)
        }
        return escaped
    }

    private static func line(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).joined(separator: " ")
    }

    /// Between more backticks than there are anywhere in the text.
    private static func codeSpan(_ text: String) -> String {
        let text = line(text)
        let runs = text.split { $0 != "`" }
        guard let longest = runs.map(\.count).max() else { return "`\(text)`" }
        let fence = String(repeating: "`", count: longest + 1)
        return "\(fence) \(text) \(fence)"
    }
}
