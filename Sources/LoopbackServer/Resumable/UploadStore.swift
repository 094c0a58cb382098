public import Foundation

/// What the servers of resumable uploads have stored. It may be given to several of them: a server that is started
/// with the store of one that was stopped goes on where that one ended.
public final class UploadStore: Sendable {
    /// What is kept of the bytes.
    public enum Storage: Sendable {
        /// The bytes.
        case data
        /// Their ``BodyDigest``.
        case digest
        /// Their number only, which takes no time.
        case count
    }

    /// One upload, or one part of it where a protocol uploads parts.
    public struct Upload: Sendable {
        /// The server's name for it, unique in the store.
        public let id: String
        /// What it was created as: a path or an object's name.
        public let name: String
        /// The target of the request that created it.
        public let target: String
        /// The fields of the request that created it.
        public let fields: [(name: String, value: String)]
        /// How long it will be, if that was declared.
        public internal(set) var length: Int64?
        /// How many bytes are stored.
        public internal(set) var offset: Int64 = 0
        /// Whether the server takes it for whole.
        public internal(set) var isComplete = false
        /// Whether the server has forgotten it. Its record stays, without its bytes.
        public internal(set) var isGone = false
        /// The bytes, with ``UploadStore/Storage/data``.
        public internal(set) var data: Data?
        /// When it was created or last added to.
        public internal(set) var changed = Date()

        var hasher: BodyDigest?
        var completesByLength: Bool

        /// The ``BodyDigest`` of what is stored; nil with ``UploadStore/Storage/count``, and for an upload joined from
        /// others with ``UploadStore/Storage/digest``.
        public var digest: UInt64? { data.map(BodyDigest.of) ?? hasher?.value }

        mutating func append(count: Int, _ bytes: UnsafeRawBufferPointer?) {
            if let bytes {
                data?.append(contentsOf: bytes)
                hasher?.update(bytes)
            }
            offset += Int64(count)
            changed = Date()
            if completesByLength, offset == length { isComplete = true }
        }

        /// The first value of the creating request's field called `name`, in any case.
        public func field(_ name: String) -> String? {
            fields.first { isSame($0.name, name) }?.value
        }
    }

    private struct Hold {
        let token: Int
        var isUnwanted = false
    }

    private struct Contents {
        var uploads: [String: Upload] = [:]
        var order: [String] = []
        var holds: [String: Hold] = [:]
        var tokenCount = 0

        func allows(_ id: String, _ token: Int) -> Bool {
            guard let hold = holds[id], hold.token == token, !hold.isUnwanted else { return false }
            return uploads[id]?.isGone == false
        }
    }

    /// What is kept of the bytes.
    public let storage: Storage
    private let contents = Locked(Contents())

    /// An empty store.
    public init(_ storage: Storage = .data) {
        self.storage = storage
    }

    // MARK: Looking

    /// All uploads ever created, in order.
    public var uploads: [Upload] {
        contents.withLock { contents in contents.order.compactMap { contents.uploads[$0] } }
    }

    /// The upload with this id, gone or not.
    public subscript(id: String) -> Upload? {
        contents.withLock { $0.uploads[id] }
    }

    /// An upload that is not gone, without its bytes: to hold those would have the next addition copy them.
    func peek(_ id: String) -> Upload? {
        contents.withLock { contents in
            guard var upload = contents.uploads[id], !upload.isGone else { return nil }
            upload.data = nil
            return upload
        }
    }

    /// All those that are complete, not gone, and have an id that begins like this, in order and without their bytes.
    func complete(withPrefix prefix: String) -> [Upload] {
        contents.withLock { contents in
            contents.order.compactMap { id in
                guard id.hasPrefix(prefix), var upload = contents.uploads[id], upload.isComplete, !upload.isGone else {
                    return nil
                }
                upload.data = nil
                return upload
            }
        }
    }

    // MARK: Changing

    /// Drops what is stored from `offset` on; the upload is not complete then.
    ///
    /// - Returns: False if that is impossible: there is no such upload, or there are only digests of its bytes.
    @discardableResult
    public func truncate(_ id: String, to offset: Int64) -> Bool {
        change(id) { upload in
            guard offset >= 0, offset < upload.offset, upload.hasher == nil || offset == 0 else { return false }
            if upload.hasher != nil { upload.hasher = BodyDigest() }
            upload.data = upload.data.map { Data($0.prefix(Int(clamping: offset))) }
            upload.offset = offset
            upload.isComplete = false
            return true
        } ?? false
    }

    /// Forgets the upload: for every server it is gone.
    public func forget(_ id: String) {
        change(id) { upload in
            upload.isGone = true
            upload.data = nil
        }
    }

    /// Has an upload look as if it had last been added to that much earlier.
    public func age(_ id: String, by seconds: TimeInterval) {
        change(id) { $0.changed -= seconds }
    }

    func create(
        _ name: String,
        for request: ReceivedRequest,
        length: Int64? = nil,
        completesByLength: Bool = false,
        id: (Int) -> String
    ) -> String {
        contents.withLock { contents in
            let id = id(contents.order.count + 1)
            var upload = Upload(
                id: id,
                name: name,
                target: request.target,
                fields: request.fields,
                length: length,
                hasher: storage == .digest ? BodyDigest() : nil,
                completesByLength: completesByLength
            )
            if storage == .data { upload.data = Data() }
            if completesByLength, length == 0 { upload.isComplete = true }
            contents.uploads[id] = upload
            contents.order.append(id)
            return id
        }
    }

    func setLength(_ id: String, _ length: Int64) {
        change(id) { upload in
            upload.length = length
            if upload.completesByLength, upload.offset == length { upload.isComplete = true }
        }
    }

    func complete(_ id: String) {
        change(id) { $0.isComplete = true }
    }

    /// Fills an empty upload with the bytes of others, and completes it.
    func join(_ ids: [String], into id: String) {
        contents.withLock { contents in
            let parts = ids.compactMap { contents.uploads[$0] }
            contents.uploads[id]?.offset = parts.reduce(0) { $0 + $1.offset }
            contents.uploads[id]?.isComplete = true
            contents.uploads[id]?.hasher = nil
            guard storage == .data else { return }
            contents.uploads[id]?.data = parts.reduce(into: Data()) { $0 += $1.data ?? Data() }
        }
    }

    @discardableResult
    private func change<Result>(_ id: String, _ body: (inout Upload) -> Result) -> Result? {
        contents.withLock { contents in
            guard let index = contents.uploads.index(forKey: id) else { return nil }
            return body(&contents.uploads.values[index])
        }
    }

    // MARK: Holding

    /// A token that allows to add to the upload until it is given back; nil while somebody else has one.
    func hold(_ id: String) -> Int? {
        contents.withLock { contents in
            guard contents.holds[id] == nil else { return nil }
            contents.tokenCount += 1
            contents.holds[id] = Hold(token: contents.tokenCount)
            return contents.tokenCount
        }
    }

    func release(_ id: String, _ token: Int) {
        contents.withLock { contents in
            if contents.holds[id]?.token == token { contents.holds[id] = nil }
        }
    }

    /// Asks whoever has the token to give it back soon.
    func interrupt(_ id: String) {
        contents.withLock { $0.holds[id]?.isUnwanted = true }
    }

    /// Whether the one with this token may go on.
    func isWanted(_ id: String, _ token: Int) -> Bool {
        contents.withLock { $0.allows(id, token) }
    }

    /// Adds bytes, or their number only, at the end. False if the one with this token may not.
    func append(_ id: String, _ token: Int, count: Int, _ bytes: UnsafeRawBufferPointer?) -> Bool {
        contents.withLock { contents in
            guard contents.allows(id, token) else { return false }
            contents.uploads[id]?.append(count: count, bytes)
            return true
        }
    }
}
