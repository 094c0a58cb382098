/// Why there is nothing to report.
struct Failure: Error, CustomStringConvertible {
    let description: String
}
