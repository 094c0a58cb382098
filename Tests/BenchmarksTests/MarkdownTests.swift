import Testing

@testable import Benchmarks

@Suite struct MarkdownTests {
    @Test func wholeReport() {
        #expect(
            Markdown(of: .sample([.sample, .single])).text == """
                `swift run -c release Benchmarks all` on Linux, 2 cores

                **A large file**

                | file-1GiB | MB/s | peak MiB | ratio of MB/s |
                | --- | ---: | ---: | ---: |
                | AsyncUpload | 1000 | 21.0 | 1 |
                | curl | 800 | 9.00 | x 1.00 (0.50..1.00) |
                | requests | – | – | – |

                nginx is not on this machine.

                Everything over loopback.

                **One event**

                | events | ns | ratio of ns |
                | --- | ---: | ---: |
                | emit | 42.5 | 1 |

                """
        )
    }

    @Test func namesStayInTheirCells() {
        var section = Report.Section.single
        section.rows[0].name = #"a|b \ *c* <d>"# + "\n`e`"
        let text = Markdown(of: .sample([section])).text
        #expect(text.contains(#"| a\|b \\ \*c\* \<d> \`e\` | 42.5 | 1 |"# + "\n"))
    }

    @Test(arguments: [("a b", "`a b` on"), ("a `b` c", "`` a `b` c `` on"), ("``a", "``` ``a ``` on")])
    func commandsStayInTheirSpan(command: String, start: String) {
        let report = Report(command: command, machine: "m")
        #expect(Markdown(of: report).text.hasPrefix(start))
    }

    @Test func titlesAndNotesAreOneLineEach() {
        var section = Report.Section.single
        section.title = "One\nevent"
        section.notes = ["A\r\nnote"]
        let lines = Markdown(of: .sample([section])).text.split(separator: "\n")
        #expect(lines.contains("**One event**"))
        #expect(lines.last == "A note")
    }
}
