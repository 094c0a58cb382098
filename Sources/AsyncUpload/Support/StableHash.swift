/// A number that stands for a text, the same in every process (FNV-1a, 64 bits). Not for what somebody might forge.
struct StableHash {
    let value: UInt64

    init(_ text: String) {
        value = text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
