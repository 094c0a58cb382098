/// What the files of one checkpoint are called. Any identifier has a name, and what is not made here is not taken for
/// one.
struct CheckpointName: Hashable, Sendable {
    enum Kind {
        case checkpoint, lock, partial
    }

    /// A beginning for people, and a hash of all of it.
    private let stem: String

    init(for identifier: String) {
        var beginning: [UInt8] = []
        for byte in identifier.utf8 {
            guard beginning.count < 40 else { break }
            if byte.isAlphanumericASCII || byte == UInt8(ascii: "_") {
                beginning.append(byte)
            } else if !beginning.isEmpty, beginning.last != UInt8(ascii: "-") {
                beginning.append(UInt8(ascii: "-"))
            }
        }
        if !beginning.isEmpty, beginning.last != UInt8(ascii: "-") { beginning.append(UInt8(ascii: "-")) }
        let digits = String(Self.hash(identifier.utf8), radix: 16)
        stem =
            String(decoding: beginning, as: UTF8.self)
            + String(repeating: "0", count: Self.digitCount - digits.utf8.count) + digits
    }

    var checkpoint: String { stem + ".checkpoint" }
    var lock: String { stem + ".lock" }

    /// The name of a file that becomes the checkpoint; another one each time.
    func partial() -> String {
        "\(stem).\(String(UInt64.random(in: .min ... .max), radix: 16)).partial"
    }

    /// Which checkpoint a file belongs to; `nil` for a file that is none of ours.
    static func parse(_ fileName: String) -> (name: CheckpointName, kind: Kind)? {
        let pieces = fileName.split(separator: ".", omittingEmptySubsequences: false)
        guard let name = pieces.first.flatMap(CheckpointName.init(stem:)) else { return nil }
        switch (pieces.count, pieces.last) {
        case (2, "checkpoint"): return (name, .checkpoint)
        case (2, "lock"): return (name, .lock)
        case (3, "partial") where !pieces[1].isEmpty && isHexadecimal(pieces[1]): return (name, .partial)
        default: return nil
        }
    }

    private init?(stem: Substring) {
        let beginning = stem.utf8.dropLast(Self.digitCount)
        guard stem.utf8.count >= Self.digitCount, Self.isHexadecimal(stem.suffix(Self.digitCount)),
            beginning.isEmpty || beginning.last == UInt8(ascii: "-"),
            beginning.allSatisfy({ $0.isAlphanumericASCII || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") })
        else { return nil }
        self.stem = String(stem)
    }

    private static let digitCount = 32

    private static func isHexadecimal(_ text: Substring) -> Bool {
        text.utf8.allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
        }
    }

    /// FNV-1a with 128 bits (RFC 9923). Not safe from somebody who wants two texts to collide: the identifier is in
    /// the file, too.
    static func hash(_ bytes: some Sequence<UInt8>) -> UInt128 {
        bytes.reduce(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d) {
            ($0 ^ UInt128($1)) &* 0x0100_0000_0000_0000_0000_013b
        }
    }
}
