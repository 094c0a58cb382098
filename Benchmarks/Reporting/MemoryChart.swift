/// The peak of memory over the size of what is sent: flat, where memory does not grow with it.
struct MemoryChart: ChartPart {
    let heading: String
    let height = 200.0

    private static let figure = Figure.peakMebibytes
    private static let headingHeight = 28.0
    private static let sizeHeight = 20.0
    private static let valueWidth = 44.0
    /// Half of the widest label of a size.
    private static let overhang = 28.0
    private static let labelDistance = 60.0

    private struct Point {
        let size: Int64
        let spread: Spread
    }

    private let points: [Point]
    private let width: Double

    /// - Returns: `nil` when there is nothing to show.
    init?(of section: Report.Section, width: Double) {
        points = section.rows.compactMap { row in
            guard row.byteCount > 0, let spread = row.spread(Self.figure), spread.isFinite else { return nil }
            return Point(size: row.byteCount, spread: spread)
        }.sorted { $0.size < $1.size }
        guard !points.isEmpty else { return nil }
        self.width = width
        heading = "\(section.title): \(Self.figure.title)"
    }

    func draw(into drawing: inout SVG, x: Double, y: Double) {
        drawing.text("heading", heading.shortened(to: 95), x: x, y: y + 12)
        let (left, right) = (x + Self.valueWidth, x + width - 8)
        let bottom = y + height - Self.sizeHeight
        let ticks = ChartTicks(upTo: points.map(\.spread.median).max() ?? 0)
        let values = ChartScale.linear(to: ticks.greatest, start: bottom, end: y + Self.headingHeight)
        for tick in ticks.values {
            let height = values.position(of: tick)
            drawing.line("grid", from: (left, height), to: (right, height))
            drawing.text("axis", ticks.text(tick), x: left - 6, y: height + 4, anchor: .end)
        }

        let sizes = ChartScale.logarithmic(
            from: Double(points.first?.size ?? 1),
            to: Double(points.last?.size ?? 1),
            start: left + Self.overhang,
            end: right - Self.overhang
        )
        let places = points.map { (x: sizes.position(of: Double($0.size)), y: values.position(of: $0.spread.median)) }
        drawing.path("curve", through: places)
        let labelled = Self.indicesWithRoom(places.map(\.x))
        for (index, (point, place)) in zip(points, places).enumerated() {
            let size = point.size.binarySizeText
            let title = "\(size): \(point.spread.shortText) \(Self.figure.title)"
            drawing.circle("first", x: place.x, y: place.y, radius: 3.5, title: title)
            guard labelled.contains(index) else { continue }
            drawing.text("axis", size, x: place.x, y: bottom + 16, anchor: .middle)
        }
    }

    /// The last, and from the first on each that is far enough from the one before it and from the last.
    private static func indicesWithRoom(_ positions: [Double]) -> Set<Int> {
        guard let last = positions.last else { return [] }
        var chosen: Set = [positions.count - 1]
        var previous = -Double.infinity
        for (index, position) in positions.enumerated()
        where position - previous >= labelDistance && last - position >= labelDistance {
            chosen.insert(index)
            previous = position
        }
        return chosen
    }
}
