/// Writes bytes as ASCII that means the same in a URL or in a form.
enum PercentEncoding {
    /// For a name in a path: all but the unreserved characters of RFC 3986 §2.3.
    static func pathEncoded(_ bytes: some Sequence<UInt8>) -> String {
        encoded(bytes, keeping: "-._~", space: nil)
    }

    /// For the body of a form (URL Standard, "application/x-www-form-urlencoded percent-encode set").
    static func formEncoded(_ bytes: some Sequence<UInt8>) -> String {
        encoded(bytes, keeping: "*-._", space: UInt8(ascii: "+"))
    }

    private static func encoded(_ bytes: some Sequence<UInt8>, keeping marks: String, space: UInt8?) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var result: [UInt8] = []
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                result.append(byte)
            case _ where marks.utf8.contains(byte): result.append(byte)
            default:
                if let space, byte == UInt8(ascii: " ") {
                    result.append(space)
                } else {
                    result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
                }
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
