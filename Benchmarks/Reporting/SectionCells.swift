/// What tables of every format say of a section.
extension Report.Section {
    /// In place of what nobody knows.
    static let missing = "–"

    /// What rows are compared by: the first that is shown.
    var comparedFigure: Figure? {
        shows.first
    }

    /// The headings of a table whose rows each are a name, the figures that are shown, and the ratio to the first row.
    var headings: [String] {
        [name] + shows.map(\.title) + (comparedFigure.map { ["ratio of \($0.title)"] } ?? [])
    }

    /// The cells of such a table.
    func cells(figureText: (Spread, _ isCompared: Bool) -> String) -> [[String]] {
        rows.enumerated().map { index, row in
            let figures = shows.map { figure in
                row.spread(figure).map { figureText($0, figure == comparedFigure) } ?? Self.missing
            }
            return [row.name] + figures + (comparedFigure.map { [ratioText(at: index, $0)] } ?? [])
        }
    }

    private func ratioText(at index: Int, _ figure: Figure) -> String {
        if index == 0 { return rows[0].spread(figure) == nil ? Self.missing : "1" }
        return rows[index].ratio(figure, to: rows[0])?.ratioText ?? Self.missing
    }
}
