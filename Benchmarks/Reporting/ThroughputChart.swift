/// A bar for each contestant, with the least and the most that were measured.
struct ThroughputChart: ChartPart {
    let heading: String
    let height: Double

    private static let figure = Figure.megabytesPerSecond
    private static let headingHeight = 26.0
    private static let nameWidth = 210.0
    private static let valueWidth = 60.0

    private struct Row {
        let name: String
        let spread: Spread
    }

    private let rows: [Row]
    private let width: Double
    private let rowHeight: Double

    /// - Returns: `nil` when there is nothing to show.
    init?(of section: Report.Section, width: Double) {
        rows = section.rows.compactMap { row in
            row.spread(Self.figure).flatMap { $0.isFinite ? Row(name: row.name, spread: $0) : nil }
        }
        guard !rows.isEmpty else { return nil }
        self.width = width
        heading = "\(section.title): \(Self.figure.title)"
        // Many share the room, but not less than a line of text needs.
        rowHeight = min(24, max(14, 144 / Double(rows.count)))
        height = Self.headingHeight + rowHeight * Double(rows.count)
    }

    func draw(into drawing: inout SVG, x: Double, y: Double) {
        drawing.text("heading", heading.shortened(to: 95), x: x, y: y + 12)
        let start = x + Self.nameWidth
        let most = rows.map(\.spread.most).max() ?? 0
        let scale = ChartScale.linear(to: most, start: start, end: x + width - Self.valueWidth)
        for (index, row) in rows.enumerated() {
            let middle = y + Self.headingHeight + rowHeight * (Double(index) + 0.5)
            let thickness = rowHeight * 0.7
            drawing.text("name", row.name.shortened(to: 30), x: start - 8, y: middle + 4, anchor: .end)
            drawing.rectangle(
                index == 0 ? "first" : "other",
                x: start,
                y: middle - thickness / 2,
                width: scale.position(of: row.spread.median) - start,
                height: thickness,
                title: "\(row.name): \(row.spread.shortText) \(Self.figure.title)"
            )
            let (least, most) = (scale.position(of: row.spread.least), scale.position(of: row.spread.most))
            drawing.line("whisker", from: (least, middle), to: (most, middle))
            for end in [least, most] {
                drawing.line("whisker", from: (end, middle - thickness / 4), to: (end, middle + thickness / 4))
            }
            drawing.text("value", row.spread.median.shortText, x: most + 6, y: middle + 4)
        }
    }
}
