/// The two ways to write text as ASCII that forms and queries have.
enum PercentEncoding {
    /// For a form's body (URL Standard, "application/x-www-form-urlencoded percent-encode set"); a space becomes `+`.
    static func formEncoded(_ text: String) -> String {
        encoded(text, keeping: "*-._", space: UInt8(ascii: "+"))
    }

    /// For a query: everything but the unreserved characters (RFC 3986 §2.3), so that no server can take `+` for a space or
    /// `&` and `=` for a delimiter.
    static func queryEncoded(_ text: String) -> String {
        encoded(text, keeping: "-._~", space: nil)
    }

    private static func encoded(_ text: String, keeping marks: String, space: UInt8?) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            if byte.isAlphanumericASCII || marks.utf8.contains(byte) {
                bytes.append(byte)
            } else if let space, byte == UInt8(ascii: " ") {
                bytes.append(space)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
