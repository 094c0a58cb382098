/// Throughput by contestant, and below it memory by size: what a README shows of a report.
struct Chart {
    /// The image as a file.
    let svg: String

    private static let width = 720.0
    private static let margin = 16.0
    private static let gap = 14.0
    private static let style = """
        text{font-family:-apple-system,BlinkMacSystemFont,"Segoe UI","Noto Sans",Helvetica,Arial,sans-serif;\
        font-size:12px;fill:#1f2328}\
        .heading{font-size:13px;font-weight:600}\
        .axis{font-size:11px;fill:#59636e}\
        .background{fill:#fdfdfd;stroke:#d1d9e0}\
        .first{fill:#0969da}\
        .other{fill:#818b98}\
        .whisker{stroke:#1f2328;stroke-width:1.2}\
        .grid{stroke:#d1d9e0;stroke-width:1}\
        .curve{fill:none;stroke:#0969da;stroke-width:2}
        """

    /// - Parameter name: The section whose throughput is shown. By default, the first whose name begins with `file-1GiB`, or
    ///   else the first that shows megabytes a second.
    /// - Throws: When there is nothing for either chart. One alone is left out.
    init(of report: Report, throughputOf name: String? = nil) throws {
        let width = Self.width - 2 * Self.margin
        let throughput = Self.throughputSection(of: report, name).flatMap { ThroughputChart(of: $0, width: width) }
        let growth = report.sections.first { $0.name == "growth-bytes" }
        let memory = growth.flatMap { MemoryChart(of: $0, width: width) }
        let candidates: [(any ChartPart)?] = [throughput, memory]
        let parts = candidates.compactMap(\.self)
        guard !parts.isEmpty else { throw Failure(description: "there is nothing to draw charts of") }

        var drawing = SVG()
        var top = Self.margin
        for part in parts {
            part.draw(into: &drawing, x: Self.margin, y: top)
            top += part.height + Self.gap
        }
        let height = top - Self.gap + Self.margin
        var image = SVG()
        // Half a pixel in, where a line of one pixel is sharp.
        image.rectangle("background", x: 0.5, y: 0.5, width: Self.width - 1, height: height - 1, radius: 8)
        image.append(contentsOf: drawing)
        let title = parts.map(\.heading).joined(separator: ". ")
        svg = image.document(width: Self.width, height: height, title: title, style: Self.style)
    }

    private static func throughputSection(of report: Report, _ name: String?) -> Report.Section? {
        if let name { return report.sections.first { $0.name == name } }
        return report.sections.first { $0.name.hasPrefix("file-1GiB") }
            ?? report.sections.first { $0.shows.contains(.megabytesPerSecond) }
    }
}
