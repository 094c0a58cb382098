import Foundation

/// What Google Cloud Storage says of a session and of the object that has become of it.
enum GCSAnswer {
    /// No object is nearly as large, and no sum with it overflows.
    static let sizeLimit: Int64 = 1 << 50

    /// How many bytes a 308 says are stored: `Range: bytes=0-n`, or none without it.
    static func persistedCount(_ head: ResponseHead) throws -> Int64 {
        guard let text = head.headers["Range"] else { return 0 }
        let range = text.trimmingCharacters(in: .whitespaces).lowercased()
        guard range.hasPrefix("bytes=0-"), let last = Int64(decimal: range.dropFirst(8)), last < sizeLimit else {
            throw UploadError(.protocolViolation, detail: "Range \(text.debugDescription)")
        }
        return last + 1
    }

    /// How large the object is, by its JSON or, through signed URLs, by a field.
    static func size(_ head: ResponseHead, _ body: Data) throws -> Int64? {
        let (one, other) = (sizeInJSON(body), sizeInField(head))
        if let one, let other, one != other {
            throw UploadError(.protocolViolation, detail: "the object has \(one) bytes and \(other)")
        }
        guard let size = one ?? other else { return nil }
        guard (0..<sizeLimit).contains(size) else {
            throw UploadError(.protocolViolation, detail: "the object has \(size) bytes")
        }
        return size
    }

    private static func sizeInField(_ head: ResponseHead) -> Int64? {
        head.headers["x-goog-stored-content-length"].flatMap { Int64(decimal: $0) }
    }

    private static func sizeInJSON(_ body: Data) -> Int64? {
        try? JSONDecoder().decode(Object.self, from: body).size
    }

    /// Its numbers are texts, as those of 64 bits are in Google's JSON; emulators write numbers.
    private struct Object: Decodable {
        let size: Int64?

        private enum Key: CodingKey { case size }

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: Key.self)
            let text = try? fields.decode(String.self, forKey: .size)
            size = try text.map { Int64(decimal: $0) } ?? fields.decodeIfPresent(Int64.self, forKey: .size)
        }
    }
}
