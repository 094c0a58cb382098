/// Strict, because an entry that is not understood would check nothing: what is unknown, missing, or too much is an error.
extension Threshold: Codable {
    private enum Key: String, CodingKey {
        case section, row, to, figure, ratioAtLeast, ratioAtMost, differenceAtMost, atMost, why, optional

        static let limits: [Key] = [.ratioAtLeast, .ratioAtMost, .differenceAtMost, .atMost]
    }

    private struct AnyKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) {
            self.stringValue = stringValue
        }

        init?(intValue: Int) {
            nil
        }
    }

    init(from decoder: any Decoder) throws {
        func mistake(_ description: String) -> DecodingError {
            .dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: description))
        }
        let unknown = try decoder.container(keyedBy: AnyKey.self).allKeys.map(\.stringValue)
            .filter { Key(rawValue: $0) == nil }
        guard unknown.isEmpty else {
            throw mistake("unknown key \(unknown.sorted().joined(separator: ", "))")
        }
        let container = try decoder.container(keyedBy: Key.self)
        section = try container.decode(String.self, forKey: .section)
        row = try container.decode(String.self, forKey: .row)
        figure = try container.decode(Figure.self, forKey: .figure)
        why = try container.decode(String.self, forKey: .why)
        isOptional = try container.decodeIfPresent(Bool.self, forKey: .optional) ?? false
        let given = Key.limits.filter(container.contains)
        guard let key = given.first, given.count == 1 else {
            throw mistake("exactly one of \(Key.limits.map(\.rawValue).joined(separator: ", ")) is needed")
        }
        let bound = try container.decode(Double.self, forKey: key)
        let other = try container.decodeIfPresent(String.self, forKey: .to)
        guard other != row else { throw mistake("\(row) is compared with itself") }
        switch (key, other) {
        case (.ratioAtLeast, let other?): limit = .ratioAtLeast(bound, to: other)
        case (.ratioAtMost, let other?): limit = .ratioAtMost(bound, to: other)
        case (.differenceAtMost, let other?): limit = .differenceAtMost(bound, to: other)
        case (.atMost, nil): limit = .atMost(bound)
        case (.atMost, _): throw mistake("atMost compares with nothing, so that \"to\" has no meaning")
        default: throw mistake("\(key.rawValue) needs \"to\"")
        }
        let isMeaningful =
            switch key {
            case .ratioAtLeast, .ratioAtMost: bound > 0
            case .atMost: bound >= 0
            default: true
            }
        guard isMeaningful, bound.isFinite else { throw mistake("\(key.rawValue) cannot be \(bound.plainText)") }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(section, forKey: .section)
        try container.encode(row, forKey: .row)
        try container.encode(figure, forKey: .figure)
        try container.encode(why, forKey: .why)
        if isOptional { try container.encode(true, forKey: .optional) }
        try container.encodeIfPresent(limit.other, forKey: .to)
        let key: Key =
            switch limit {
            case .ratioAtLeast: .ratioAtLeast
            case .ratioAtMost: .ratioAtMost
            case .differenceAtMost: .differenceAtMost
            case .atMost: .atMost
            }
        try container.encode(limit.bound, forKey: key)
    }
}
