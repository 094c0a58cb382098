import Foundation

#if canImport(Glibc)
    import Glibc

    private let streamType = Int32(SOCK_STREAM.rawValue)
    private let sendFlags = Int32(MSG_NOSIGNAL)
#else
    import Darwin

    private let streamType = SOCK_STREAM
    private let sendFlags: Int32 = 0
#endif

// Functions of the system that have the names of functions here.
private let startListening: @Sendable (Int32, Int32) -> Int32 = { listen($0, $1) }
private let connectSocket: @Sendable (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32 = { connect($0, $1, $2) }

/// Sockets of 127.0.0.1.
enum Loopback {
    struct Failure: Error {
        let call: String
        let code = errno
    }

    /// Ports that nothing listens at, each another one.
    static func freePorts(_ count: Int) throws -> [UInt16] {
        // All are held until the last one is found.
        var descriptors: [Int32] = []
        defer { for descriptor in descriptors { close(descriptor) } }
        return try (0..<count).map { _ in
            let descriptor = try makeSocket()
            descriptors.append(descriptor)
            return try withAddress(port: 0) { address, length in
                guard bind(descriptor, address, length) == 0 else { throw Failure(call: "bind") }
                guard getsockname(descriptor, address, &length) == 0 else { throw Failure(call: "getsockname") }
            }
        }
    }

    /// What a server answers to a GET request, its head included.
    static func get(_ path: String, port: UInt16) throws -> String {
        let descriptor = try connect(to: port)
        defer { close(descriptor) }
        let request = Array("GET \(path) HTTP/1.0\r\n\r\n".utf8)
        guard send(descriptor, request, request.count, sendFlags) == request.count else { throw Failure(call: "send") }
        var answer: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &piece, piece.count)
            guard count >= 0 else { throw Failure(call: "read") }
            guard count > 0 else { return String(decoding: answer, as: UTF8.self) }
            answer += piece.prefix(count)
        }
    }

    /// A socket that waits for connections at a free port.
    static func listen() throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = try makeSocket()
        do {
            let port = try withAddress(port: 0) { address, length in
                guard bind(descriptor, address, length) == 0 else { throw Failure(call: "bind") }
                guard getsockname(descriptor, address, &length) == 0 else { throw Failure(call: "getsockname") }
            }
            guard startListening(descriptor, 64) == 0 else { throw Failure(call: "listen") }
            return (descriptor, port)
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// A connection to a server.
    static func connect(to port: UInt16) throws -> Int32 {
        let descriptor = try makeSocket()
        do {
            _ = try withAddress(port: port) { address, length in
                guard connectSocket(descriptor, address, length) == 0 else { throw Failure(call: "connect") }
            }
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    private static func makeSocket() throws -> Int32 {
        let descriptor = socket(AF_INET, streamType, 0)
        guard descriptor >= 0 else { throw Failure(call: "socket") }
        // Nothing here takes longer, so that a server that hangs does not make the tests hang.
        var limit = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        return descriptor
    }

    /// - Returns: the port of the address afterwards.
    private static func withAddress(
        port: UInt16,
        _ body: (UnsafeMutablePointer<sockaddr>, inout socklen_t) throws -> Void
    ) throws -> UInt16 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        address.sin_port = port.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { try body($0, &length) }
        }
        return UInt16(bigEndian: address.sin_port)
    }
}
