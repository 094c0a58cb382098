import Foundation

extension Report {
    private static let infinity = "infinity"
    private static let negativeInfinity = "-infinity"
    private static let notANumber = "nan"

    /// As a file that `Report(contentsOf:)` reads. The same report always makes the same bytes.
    var json: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            // A single odd figure must not cost all the others.
            encoder.nonConformingFloatEncodingStrategy = .convertToString(
                positiveInfinity: Self.infinity,
                negativeInfinity: Self.negativeInfinity,
                nan: Self.notANumber
            )
            return try encoder.encode(self) + Data("\n".utf8)
        }
    }

    init(json: Data) throws {
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: Self.infinity,
            negativeInfinity: Self.negativeInfinity,
            nan: Self.notANumber
        )
        self = try decoder.decode(Report.self, from: json)
    }

    init(contentsOf url: URL) throws {
        try self.init(json: Data(contentsOf: url))
    }

    /// Replaces the file, if there is one.
    func write(to url: URL) throws {
        try json.write(to: url, options: .atomic)
    }
}
