/// The elements of a drawing, in order.
struct SVG {
    enum Anchor: String {
        case start, middle, end
    }

    private var elements: [String] = []

    /// The drawing as a file, for light and for dark pages: it brings its own background.
    func document(width: Double, height: Double, title: String, style: String) -> String {
        let size = "width=\"\(Self.number(width))\" height=\"\(Self.number(height))\""
        let box = "viewBox=\"0 0 \(Self.number(width)) \(Self.number(height))\""
        let opening = [
            "<svg xmlns=\"http://www.w3.org/2000/svg\" \(size) \(box) role=\"img\">",
            "<title>\(Self.escaped(title))</title>",
            "<style>\(style)</style>",
        ]
        return (opening + elements + ["</svg>"]).joined(separator: "\n") + "\n"
    }

    mutating func append(contentsOf other: SVG) {
        elements += other.elements
    }

    mutating func rectangle(
        _ style: String,
        x: Double,
        y: Double,
        width: Double,
        height: Double,
        radius: Double = 2,
        title: String? = nil
    ) {
        append("rect", style, [("x", x), ("y", y), ("width", width), ("height", height), ("rx", radius)], title: title)
    }

    mutating func circle(_ style: String, x: Double, y: Double, radius: Double, title: String? = nil) {
        append("circle", style, [("cx", x), ("cy", y), ("r", radius)], title: title)
    }

    mutating func line(_ style: String, from start: (x: Double, y: Double), to end: (x: Double, y: Double)) {
        append("line", style, [("x1", start.x), ("y1", start.y), ("x2", end.x), ("y2", end.y)])
    }

    mutating func path(_ style: String, through points: [(x: Double, y: Double)]) {
        let pairs = points.map { "\(Self.number($0.x)),\(Self.number($0.y))" }
        elements.append("<polyline class=\"\(style)\" points=\"\(pairs.joined(separator: " "))\"/>")
    }

    /// - Parameter y: Of the line that the letters stand on.
    mutating func text(_ style: String, _ text: String, x: Double, y: Double, anchor: Anchor = .start) {
        let attributes = "x=\"\(Self.number(x))\" y=\"\(Self.number(y))\" text-anchor=\"\(anchor.rawValue)\""
        elements.append("<text class=\"\(style)\" \(attributes)>\(Self.escaped(text))</text>")
    }

    private mutating func append(
        _ name: String,
        _ style: String,
        _ attributes: [(name: String, value: Double)],
        title: String? = nil
    ) {
        let numbers = attributes.map { "\($0.name)=\"\(Self.number($0.value))\"" }.joined(separator: " ")
        let opening = "<\(name) class=\"\(style)\" \(numbers)"
        elements.append(title.map { "\(opening)><title>\(Self.escaped($0))</title></\(name)>" } ?? "\(opening)/>")
    }

    private static func number(_ value: Double) -> String {
        let text = value.text(1)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// Without the control characters that XML cannot have even escaped.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case _ where scalar.properties.generalCategory == .control: escaped += " "
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
