/// One of the charts in an image.
protocol ChartPart {
    /// Says what is drawn, of what, and in which unit.
    var heading: String { get }
    var height: Double { get }

    func draw(into drawing: inout SVG, x: Double, y: Double)
}

extension String {
    /// At most so many characters: text that is drawn does not wrap.
    func shortened(to count: Int) -> String {
        self.count > count ? "\(prefix(count - 1))…" : self
    }
}
