extension Int64 {
    /// A length as HTTP writes it: digits and nothing else (RFC 9110 §8.6). `nil` for anything else and on overflow.
    init?(decimal text: some StringProtocol) {
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        self.init(text)
    }
}
