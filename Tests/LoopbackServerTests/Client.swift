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

/// A blocking client that sends what it is told, byte for byte.
final class Client {
    struct Failure: Error {
        let call: String
        let number = errno
    }

    private let descriptor: Int32
    private var isOpen = true
    private var buffer: [UInt8] = []

    init(port: Int) throws {
        descriptor = socket(AF_INET, streamType, 0)
        guard descriptor >= 0 else { throw Failure(call: "socket") }
        #if canImport(Darwin)
            var on: Int32 = 1
            setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
        #endif
        // No test blocks for ever, whatever is wrong.
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            let failure = Failure(call: "connect")
            disconnect()
            throw failure
        }
    }

    deinit {
        disconnect()
    }

    func disconnect() {
        guard isOpen else { return }
        isOpen = false
        #if canImport(Glibc)
            Glibc.close(descriptor)
        #else
            Darwin.close(descriptor)
        #endif
    }

    func finishWriting() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    func write(_ text: String) throws {
        try write(Data(text.utf8))
    }

    func write(_ data: Data) throws {
        try data.withUnsafeBytes { bytes in
            var sent = 0
            while sent < bytes.count {
                let count = send(descriptor, bytes.baseAddress.map { $0 + sent }, bytes.count - sent, sendFlags)
                guard count > 0 else { throw Failure(call: "send") }
                sent += count
            }
        }
    }

    /// Everything up to and with `end`; what there is when the peer closes before.
    func read(until end: String) throws -> String {
        let pattern = Array(end.utf8)
        var searched = 0
        while true {
            var start = max(0, searched - pattern.count)
            while start + pattern.count <= buffer.count {
                if buffer[start] == pattern[0], buffer[start..<(start + pattern.count)].elementsEqual(pattern) {
                    return take(start + pattern.count)
                }
                start += 1
            }
            searched = buffer.count
            guard try fill() else { return take(buffer.count) }
        }
    }

    func read(count: Int) throws -> String {
        while buffer.count < count, try fill() {}
        return take(min(count, buffer.count))
    }

    /// Everything up to the end of the stream.
    func readToEnd() throws -> String {
        while try fill() {}
        return take(buffer.count)
    }

    /// The next response with its body, which has to have a Content-Length.
    func readResponse(hasBody: Bool = true) throws -> (status: Int, head: String, body: String) {
        let head = try read(until: "\r\n\r\n")
        let status = Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0
        let lines = head.lowercased().split(separator: "\r\n")
        let length = lines.first { $0.hasPrefix("content-length: ") }.flatMap { Int($0.dropFirst(16)) } ?? 0
        return (status, head, hasBody ? try read(count: length) : "")
    }

    private func fill() throws -> Bool {
        var block = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(descriptor, &block, block.count, 0)
        guard count >= 0 else { throw Failure(call: "recv") }
        buffer += block[..<count]
        return count > 0
    }

    private func take(_ count: Int) -> String {
        defer { buffer.removeFirst(count) }
        return String(decoding: buffer[..<count], as: UTF8.self)
    }
}
