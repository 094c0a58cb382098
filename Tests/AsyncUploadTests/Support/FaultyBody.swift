import Foundation
import LoopbackServer

@testable import AsyncUpload

/// The kinds of body that meet faults.
enum FaultyBody: String, CaseIterable, Sendable {
    case data, file, multipart
    /// A stream that can be made anew, of unknown length.
    case factory
    /// A stream that can be read once, of known length.
    case oneShot
}

/// A body, and what a server must get of it.
struct Specimen: Sendable {
    let body: UploadBody
    let length: Int64
    let digest: UInt64

    init(_ kind: FaultyBody, _ data: Data, in scratch: ScratchFolder, name: String = UUID().uuidString) throws {
        switch kind {
        case .data: body = .data(data)
        case .file: body = .file(try scratch.file(data, name: name))
        case .multipart:
            var form = MultipartForm()
            form.append("text", name: "t")
            form.append(.data(data.prefix(data.count / 2)), name: "d", filename: "d.bin")
            form.append(fromFile: try scratch.file(data.suffix(data.count - data.count / 2), name: name), name: "f")
            body = .multipart(form)
        case .factory: body = .stream { pieces(of: data) }
        case .oneShot: body = .stream(pieces(of: data), length: Int64(data.count))
        }
        // A form is more than its parts, and a stream cannot be read twice.
        if case .multipart = kind, case .source(let source) = try body.open() {
            var digest = BodyDigest()
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            var position: Int64 = 0
            while position < source.length {
                let count = try buffer.withUnsafeMutableBytes { try source.read(into: $0, at: position) }
                buffer.withUnsafeBytes { digest.update(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
                position += Int64(count)
            }
            (length, self.digest) = (source.length, digest.value)
        } else {
            (length, digest) = (Int64(data.count), BodyDigest.of(data))
        }
    }
}
