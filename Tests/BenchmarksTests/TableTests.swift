import Testing

@testable import Benchmarks

@Suite struct TableTests {
    @Test func columnsAreAligned() {
        #expect(
            Table(of: .sample).text == """
                A large file
                file-1GiB                MB/s  peak MiB        ratio of MB/s
                AsyncUpload  1000 (800..1250)      21.0                    1  ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇
                curl          800 (625..1000)      9.00  x 1.00 (0.50..1.00)  ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇
                requests                    –         –                    –
                nginx is not on this machine.
                Everything over loopback.
                """
        )
    }

    @Test func oneRowIsComparedWithNothing() {
        #expect(
            Table(of: .single).text == """
                One event
                events    ns  ratio of ns
                emit    42.5            1  ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇
                """
        )
    }

    @Test func nobodyComparesWithWhatIsMissing() {
        var section = Report.Section.sample
        section.notes = []
        section.rows.swapAt(0, 2)
        let lines = Table(of: section).text.split(separator: "\n")
        #expect(lines[2].split(separator: " ") == ["requests", "–", "–", "–"])
        #expect(lines[3].hasPrefix("curl "))
        #expect(lines[3].contains("–  ▇"))
    }

    @Test func sectionsWithoutRowsOrFigures() {
        let empty = Report.Section(name: "tls", title: "Over TLS", shows: [.seconds], rows: [], notes: ["No openssl."])
        #expect(Table(of: empty).text == "Over TLS\ntls  seconds  ratio of seconds\nNo openssl.")
        let mute = Report.Section(name: "a", title: "b", shows: [], rows: [Report.Row(name: "long name", rounds: [])])
        #expect(Table(of: mute).text == "b\na\nlong name")
    }

    @Test func barsOfOddFigures() {
        let values = [100, 1, 0, .nan, .infinity, 52]
        let rows = values.map { Report.Row(name: "row", rounds: [Measurement(nanoseconds: $0)]) }
        let section = Report.Section(name: "events", title: "Odd", shows: [.nanoseconds], rows: rows)
        let bars = Table(of: section).text.split(separator: "\n").dropFirst(2).map { line in line.count { $0 == "▇" } }
        #expect(bars == [20, 1, 0, 0, 0, 10])
    }

    @Test(arguments: [(20, 20), (49, 20), (60, 9), (64, 5), (65, 0), (150, 0)])
    func barsLeaveRoomForNames(nameLength: Int, barLength: Int) {
        var section = Report.Section.sample
        section.rows[0].name = String(repeating: "n", count: nameLength)
        let lines = Table(of: section).text.split(separator: "\n")
        #expect(lines[2].count { $0 == "▇" } == barLength)
        #expect(nameLength > 69 || lines.allSatisfy { $0.count <= 120 })
    }
}
