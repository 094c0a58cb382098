import AsyncUpload
import Foundation

/// The presigned URLs of one multipart upload to Amazon S3, as `--part-urls` gives them.
struct PartURLs: Equatable, Sendable {
    /// What the upload is called at the server.
    var identifier: String
    /// From part 1 on.
    var parts: [URL]
    var complete: URL
    var abort: URL?
    var list: URL?
}

extension PartURLs: Decodable {
    private enum Key: String, CodingKey {
        case identifier = "uploadId"
        case parts, complete, abort, list
    }

    init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Key.self)
        identifier = try object.decode(String.self, forKey: .identifier)
        parts = try object.decode([URL].self, forKey: .parts)
        complete = try object.decode(URL.self, forKey: .complete)
        abort = try object.decodeIfPresent(URL.self, forKey: .abort)
        list = try object.decodeIfPresent(URL.self, forKey: .list)
    }

    /// - Parameter json: an object with other keys, too, if they please.
    /// - Throws: ``PartURLFailure``. Nothing of the text is in it: it is what gives access.
    init(json: Data) throws(PartURLFailure) {
        guard let decoded = try? JSONDecoder().decode(PartURLs.self, from: json), !decoded.identifier.isEmpty,
            !decoded.parts.isEmpty, decoded.all.allSatisfy({ Destination.looksLikeURL($0.absoluteString) })
        else { throw PartURLFailure("no JSON object with uploadId, parts, complete and perhaps list and abort") }
        self = decoded
    }

    private var all: [URL] { parts + [complete, abort, list].compactMap(\.self) }

    /// - Throws: ``PartURLFailure`` when there are not so many.
    func part(_ number: Int) throws(PartURLFailure) -> URLRequest {
        guard parts.indices.contains(number - 1) else {
            throw PartURLFailure("there are \(parts.count), and part \(number) needs one")
        }
        return URLRequest(url: parts[number - 1])
    }
}

/// What is wrong with the URLs of the parts, in the middle of a sentence.
struct PartURLFailure: LocalizedError, Equatable {
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }

    var errorDescription: String? { reason }
}

/// How a body is cut into parts.
enum PartPlan {
    private static let step: Int64 = 1 << 20
    private static let smallest: Int64 = 5 << 20
    private static let usual: Int64 = 8 << 20
    private static let limit: Int64 = 10_000
    /// How many are asked for at first when the body's length is not known.
    static let firstCount = 1000

    /// So that the body takes no more parts than these.
    static func size(length: Int64, parts: Int) -> Int64 {
        max(smallest, roundedUp(length, by: Int64(max(1, parts))))
    }

    /// The usual size, and how many parts that makes.
    static func suitable(length: Int64) -> (size: Int64, count: Int) {
        let size = max(usual, roundedUp(length, by: limit))
        return (size, Int(clamping: max(1, length / size + (length % size == 0 ? 0 : 1))))
    }

    private static func roundedUp(_ length: Int64, by parts: Int64) -> Int64 {
        let size = length / parts + (length % parts == 0 ? 0 : 1)
        return size / step * step + (size % step == 0 ? 0 : step)
    }
}
