/// Prints rows whose cells stand below each other: the first to the left, the others to the right.
struct Table {
    let widths: [Int]

    func printRow(_ cells: String...) {
        let padded = zip(cells, widths).enumerated().map { index, cell in
            let padding = String(repeating: " ", count: max(0, cell.1 - cell.0.count))
            return index == 0 ? cell.0 + padding : padding + cell.0
        }
        print(padded.joined(separator: "  "))
    }
}
