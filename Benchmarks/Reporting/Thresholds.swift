import Foundation

/// All that must be true of a report.
struct Thresholds {
    let entries: [Threshold]

    /// Reads a JSON array of ``Threshold``.
    ///
    /// - Throws: A ``Failure`` that says which entry is wrong.
    static func load(from url: URL) throws -> Thresholds {
        let data = try Data(contentsOf: url)
        do {
            let entries = try JSONDecoder().decode([Threshold].self, from: data)
            guard !entries.isEmpty else { throw Failure(description: "\(url.path): there is no threshold") }
            return Thresholds(entries: entries)
        } catch let error as DecodingError {
            throw Failure(description: "\(url.path): \(Self.text(error))")
        }
    }

    /// One verdict for each threshold, in the same order.
    ///
    /// - Parameter margin: How much looser the limits are; 1 takes them as they are.
    /// - Precondition: The margin is finite, and at least 1.
    func check(_ report: Report, margin: Double = 1) -> [Verdict] {
        precondition(margin >= 1 && margin.isFinite, "a margin only loosens, and never without end")
        return entries.map { Verdict(of: $0, on: report, margin: margin) }
    }

    private static func text(_ error: DecodingError) -> String {
        let context: DecodingError.Context
        var description: String
        switch error {
        case .keyNotFound(let key, let its): (context, description) = (its, "\(key.stringValue) is missing")
        case .typeMismatch(_, let its), .valueNotFound(_, let its), .dataCorrupted(let its):
            (context, description) = (its, its.debugDescription)
        @unknown default: return "\(error)"
        }
        guard let index = context.codingPath.first?.intValue else { return description }
        if let key = context.codingPath.dropFirst().first { description = "\(key.stringValue): \(description)" }
        return "entry \(index + 1): \(description)"
    }
}
