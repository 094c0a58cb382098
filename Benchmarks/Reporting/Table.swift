/// A section for people at a terminal: names to the left, figures to the right, and a bar for each row.
struct Table {
    private static let width = 120
    private static let separator = "  "
    private static let widestBar = 20
    /// Shorter ones would tell nothing.
    private static let narrowestBar = 5

    private let section: Report.Section

    init(of section: Report.Section) {
        self.section = section
    }

    /// Without a line break at the end.
    var text: String {
        ([section.title] + grid + section.notes).joined(separator: "\n")
    }

    private var grid: [String] {
        let rows = [section.headings] + section.cells { $1 ? $0.shortText : $0.median.shortText }
        let widths = section.headings.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        let taken = widths.reduce(0) { $0 + $1 + Self.separator.count }
        let bars = [""] + bars(upTo: min(Self.widestBar, Self.width - taken))
        return zip(rows, bars).map { cells, bar in
            let padded = zip(cells, widths).enumerated().map { column, cell in
                let padding = String(repeating: " ", count: cell.1 - cell.0.count)
                return column == 0 ? cell.0 + padding : padding + cell.0
            }
            let line = (padded + [bar]).joined(separator: Self.separator)
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }

    /// As long as the compared figure is large, and empty where nothing is known.
    private func bars(upTo width: Int) -> [String] {
        let medians = section.rows.map { row in
            section.comparedFigure.flatMap { row.spread($0) }.map(\.median).flatMap { $0.isFinite ? $0 : nil } ?? 0
        }
        guard width >= Self.narrowestBar, let greatest = medians.max(), greatest > 0 else {
            return medians.map { _ in "" }
        }
        return medians.map { median in
            // What is not nothing is never shown as nothing.
            let length = median > 0 ? max(1, Int((median / greatest * Double(width)).rounded())) : 0
            return String(repeating: "▇", count: length)
        }
    }
}
