enum LineBreaks {
    /// The text with CR LF in place of each lone CR or LF, as a form has it (HTML, "multipart/form-data encoding algorithm").
    static func normalized(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 == 10 || $0 == 13 }) else { return text }
        var bytes: [UInt8] = []
        var last: UInt8 = 0
        for byte in text.utf8 {
            switch byte {
            case 10 where last == 13: bytes.append(10)
            case 10: bytes += [13, 10]
            default:
                if last == 13 { bytes.append(10) }
                bytes.append(byte)
            }
            last = byte
        }
        if last == 13 { bytes.append(10) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
