import Foundation

/// A port whose connections the system takes and nobody looks at.
final class SilentListener: Sendable {
    let port: Int
    private let descriptor: Int32

    init() throws {
        // SOCK_STREAM, which has a type of its own on each platform.
        let descriptor = socket(AF_INET, 1, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listens = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                bind(descriptor, raw, length) == 0 && listen(descriptor, 5) == 0
                    && getsockname(descriptor, raw, &length) == 0
            }
        }
        guard listens else {
            let number = errno
            close(descriptor)
            throw POSIXError(POSIXErrorCode(rawValue: number) ?? .EIO)
        }
        self.descriptor = descriptor
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit {
        close(descriptor)
    }
}
