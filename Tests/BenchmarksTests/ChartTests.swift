import Foundation
import Testing

@testable import Benchmarks

#if canImport(FoundationXML)
    import FoundationXML
#endif

@Suite struct ChartTests {
    private static let growth = Report.Section.growth([(4 << 30, [30]), (1 << 20, [10, 12, 11]), (1 << 30, [20])])

    @Test func bothCharts() throws {
        let drawing = try Drawing(Chart(of: .sample([.sample, Self.growth])))
        #expect(drawing.texts(of: "heading") == ["A large file: MB/s", "Memory by size: peak MiB"])
        #expect(drawing.titles.first == "A large file: MB/s. Memory by size: peak MiB")
        #expect(drawing.titles.contains("curl: 800 (625..1000) MB/s"))
        #expect(drawing.titles.contains("1 MiB: 11.0 (10.0..12.0) peak MiB"))
        #expect(drawing.size?.width == 720)
        #expect(try #require(drawing.size).height <= 420)
    }

    @Test func barsAreAsLongAsFiguresAreLarge() throws {
        let drawing = try Drawing(Chart(of: .sample([.sample])))
        let own = try #require(drawing.elements(of: "first").first)
        let other = try #require(drawing.elements(of: "other").first)
        #expect(drawing.elements(of: "other").count == 1)
        #expect(try abs(other.number("width") / own.number("width") - 0.8) < 0.001)
        #expect(drawing.texts(of: "name") == ["AsyncUpload", "curl"])
        #expect(drawing.texts(of: "value") == ["1000", "800"])
        let whisker = try #require(drawing.elements(of: "whisker").first)
        let perUnit = try own.number("width") / 1000
        #expect(try abs(whisker.number("x2") - whisker.number("x1") - 450 * perUnit) < 0.2)
    }

    @Test(arguments: [1, 10])
    func anyNumberOfContestantsFits(count: Int) throws {
        var section = Report.Section.sample
        section.rows = (0..<count).map { Report.Row(name: "\($0)", seconds: [1]) }
        let drawing = try Drawing(Chart(of: .sample([section, Self.growth])))
        #expect(try #require(drawing.size).height <= 420)
        let places = try drawing.elements(of: "name").map { try $0.number("y") }
        #expect(places.count == count)
        #expect(zip(places, places.dropFirst()).allSatisfy { $1 - $0 >= 14 })
    }

    @Test func curveIsOrderedBySize() throws {
        let drawing = try Drawing(Chart(of: .sample([Self.growth])))
        let curve = try #require(drawing.elements(of: "curve").first?.attributes["points"])
        let points = curve.split(separator: " ").map { $0.split(separator: ",").compactMap { Double($0) } }
        #expect(points.count == 3)
        // Doubled twice from 1 GiB to 4 GiB, and ten times from 1 MiB to 1 GiB.
        #expect(abs((points[2][0] - points[1][0]) / (points[1][0] - points[0][0]) - 0.2) < 0.001)
        // 11, 20 and 30, upwards from 0.
        let ground = try #require(drawing.elements(of: "grid").first).number("y1")
        #expect(points[2][1] < ground)
        #expect(abs((ground - points[0][1]) / (ground - points[2][1]) - 11.0 / 30) < 0.002)
        #expect(abs((ground - points[1][1]) / (ground - points[2][1]) - 20.0 / 30) < 0.002)
        #expect(drawing.texts(of: "axis") == ["0", "10", "20", "30", "1 MiB", "1 GiB", "4 GiB"])
        #expect(drawing.elements(of: "first").count == 3)
    }

    @Test func labelsOfSizesKeepTheirDistance() throws {
        let sizes = (20...33).map { (bytes: Int64(1) << $0, mebibytes: [16.0]) }
        let drawing = try Drawing(Chart(of: .sample([.growth(sizes)])))
        let labels = drawing.elements(of: "axis").filter { $0.attributes["text-anchor"] == "middle" }
        #expect(labels.first?.text == "1 MiB")
        #expect(labels.last?.text == "8 GiB")
        let places = try labels.map { try $0.number("x") }
        #expect(zip(places, places.dropFirst()).allSatisfy { $1 - $0 >= 60 })
        #expect(drawing.elements(of: "first").count == sizes.count)
    }

    @Test func oneSizeIsInTheMiddle() throws {
        let drawing = try Drawing(Chart(of: .sample([.growth([(1 << 20, [10])])])))
        let point = try #require(drawing.elements(of: "first").first)
        #expect(try (300...420).contains(point.number("cx")))
    }

    @Test func whatCannotBeDrawnIsLeftOut() throws {
        var section = Report.Section.sample
        section.rows.append(Report.Row(name: "instant", seconds: [0]))
        var growth = Report.Section.growth([(0, [10]), (1 << 20, [.nan]), (1 << 30, [20])])
        growth.rows.append(Report.Row(name: "none", byteCount: 1, rounds: []))
        let chart = try Chart(of: .sample([section, growth]))
        #expect(!chart.svg.contains("nan") && !chart.svg.contains("inf"))
        let drawing = try Drawing(chart)
        #expect(drawing.texts(of: "name") == ["AsyncUpload", "curl"])
        #expect(drawing.elements(of: "first").count == 2)
    }

    @Test func nothingSentIsNoBar() throws {
        var section = Report.Section.sample
        section.rows[0].byteCount = 0
        section.rows.removeLast(2)
        let drawing = try Drawing(Chart(of: .sample([section])))
        #expect(try drawing.elements(of: "first").map { try $0.number("width") } == [0])
    }

    // MARK: Sections

    @Test func sectionOfThroughput() throws {
        var other = Report.Section.sample
        (other.name, other.title) = ("file-1GiB-tls", "Over TLS")
        var named = other
        (named.name, named.title) = ("bytes", "Bytes")
        let first = try Chart(of: .sample([.single, named, other, .sample]))
        #expect(try Drawing(first).texts(of: "heading") == ["Over TLS: MB/s"])
        let shown = try Chart(of: .sample([.single, named]))
        #expect(try Drawing(shown).texts(of: "heading") == ["Bytes: MB/s"])
        let chosen = try Chart(of: .sample([other, named]), throughputOf: "bytes")
        #expect(try Drawing(chosen).texts(of: "heading") == ["Bytes: MB/s"])
    }

    @Test func oneOfBothIsEnough() throws {
        let chart = try Chart(of: .sample([.sample, Self.growth]), throughputOf: "elsewhere")
        #expect(try Drawing(chart).texts(of: "heading") == ["Memory by size: peak MiB"])
    }

    @Test func neitherIsAnError() {
        #expect(throws: Failure.self) { try Chart(of: .sample([])) }
        #expect(throws: Failure.self) { try Chart(of: .sample([.single])) }
        #expect(throws: Failure.self) { try Chart(of: .sample([.sample]), throughputOf: "elsewhere") }
        #expect(throws: Failure.self) { try Chart(of: .sample([.growth([])])) }
    }

    // MARK: Text

    @Test func namesAreEscaped() throws {
        var section = Report.Section.sample
        section.title = "<b> & \"c\"\u{1}"
        section.rows[0].name = "]]> <&amp;>"
        let drawing = try Drawing(Chart(of: .sample([section])))
        #expect(drawing.texts(of: "heading") == ["<b> & \"c\" : MB/s"])
        #expect(drawing.texts(of: "name").first == "]]> <&amp;>")
    }

    @Test func longNamesAreShortenedWhereTheyAreDrawn() throws {
        let name = String(repeating: "n", count: 40)
        var section = Report.Section.sample
        section.rows[0].name = name
        let drawing = try Drawing(Chart(of: .sample([section])))
        #expect(drawing.texts(of: "name").first == "\(name.prefix(29))…")
        #expect(drawing.titles.contains { $0.hasPrefix(name) })
    }

    @Test func sameReportSameImage() throws {
        let report = Report.sample([.sample, Self.growth])
        #expect(try Chart(of: report).svg == Chart(of: report).svg)
        #expect(try Chart(of: report).svg.hasSuffix("</svg>\n"))
    }

    // MARK: Ticks

    @Test(
        arguments: [
            (3, ["0", "1", "2", "3"]), (21, ["0", "10", "20", "30"]), (0.2, ["0.00", "0.05", "0.10", "0.15", "0.20"]),
            (0.35, ["0.0", "0.1", "0.2", "0.3", "0.4"]), (700, ["0", "200", "400", "600", "800"]), (0, ["0", "1"]),
            (10, ["0", "5", "10"]),
        ] as [(Double, [String])]
    )
    func ticks(most: Double, texts: [String]) {
        let ticks = ChartTicks(upTo: most)
        #expect(ticks.values.map(ticks.text) == texts)
        #expect(ticks.greatest >= most)
    }
}

/// What an XML parser finds in a chart.
private final class Drawing: NSObject, XMLParserDelegate {
    struct Element {
        let attributes: [String: String]
        var text = ""

        func number(_ name: String) throws -> Double {
            try #require(attributes[name].flatMap { Double($0) })
        }
    }

    private(set) var titles: [String] = []
    private var all: [Element] = []
    private var text = ""

    init(_ chart: Chart) throws {
        super.init()
        let parser = XMLParser(data: Data(chart.svg.utf8))
        parser.delegate = self
        try #require(parser.parse(), "no XML: \(String(describing: parser.parserError))")
    }

    var size: (width: Double, height: Double)? {
        guard let root = all.first, let width = try? root.number("width"), let height = try? root.number("height")
        else {
            return nil
        }
        return (width, height)
    }

    func elements(of style: String) -> [Element] {
        all.filter { $0.attributes["class"] == style }
    }

    func texts(of style: String) -> [String] {
        elements(of: style).map(\.text)
    }

    func parser(
        _ parser: XMLParser,
        didStartElement name: String,
        namespaceURI: String?,
        qualifiedName: String?,
        attributes: [String: String] = [:]
    ) {
        text = ""
        if name != "title" { all.append(Element(attributes: attributes)) }
    }

    func parser(_ parser: XMLParser, foundCharacters characters: String) {
        text += characters
    }

    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
        if name == "title" { titles.append(text) }
        if name == "text" { all[all.count - 1].text = text }
    }
}
