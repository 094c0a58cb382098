import Foundation
import Synchronization

/// Counts uploads of known lengths and accepts them, with as little work as can be: one thread for all connections. Of many
/// small uploads a server that keeps account of each request would be a good part of what is measured.
final class LeanSink: Sendable {
    private struct Counts {
        var uploads: [Int64] = []
        var others = 0
    }

    private struct Connection {
        let descriptor: CInt
        var head: [UInt8] = []
        /// Of the body that is being received; `nil` in a head.
        var length: Int64?
        var received: Int64 = 0
    }

    private static let bufferSize = 256 << 10
    private static let headLimit = 64 << 10
    private static let mark = Array("\r\n\r\n".utf8)
    private static let response = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8)

    let port: UInt16
    private let listener: CInt
    private let counts = Mutex(Counts())

    /// Binds a port of this machine and serves it until the process ends.
    init() throws {
        listener = Platform.streamSocket()
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) == 0 && listen(listener, 1024) == 0
                    && getsockname(listener, address, &size) == 0
            }
        }
        guard isListening else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { self.serve() }
    }

    /// The length of each upload so far, and how much else came.
    var arrivals: (uploads: [Int64], others: Int) {
        counts.withLock { ($0.uploads, $0.others) }
    }

    private func serve() {
        var connections: [Connection] = []
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bufferSize, alignment: 64)
        while true {
            var requests = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
            requests += connections.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
            guard poll(&requests, nfds_t(requests.count), -1) > 0 else { continue }
            for index in connections.indices.reversed() where requests[index + 1].revents != 0 {
                if receive(&connections[index], buffer) { continue }
                close(connections[index].descriptor)
                connections.remove(at: index)
            }
            if requests[0].revents != 0 {
                let descriptor = accept(listener, nil, nil)
                if descriptor >= 0 { connections.append(Connection(descriptor: descriptor)) }
            }
        }
    }

    /// - Returns: whether the connection goes on.
    private func receive(_ connection: inout Connection, _ buffer: UnsafeMutableRawBufferPointer) -> Bool {
        let count = recv(connection.descriptor, buffer.baseAddress, buffer.count, 0)
        guard count > 0 else {
            if connection.length != nil || !connection.head.isEmpty { counts.withLock { $0.others += 1 } }
            return false
        }
        return take(UnsafeRawBufferPointer(rebasing: buffer[..<count]), &connection)
    }

    private func take(_ bytes: UnsafeRawBufferPointer, _ connection: inout Connection) -> Bool {
        guard let length = connection.length else { return takeHead(bytes, &connection) }
        connection.received += Int64(bytes.count)
        guard connection.received >= length else { return true }
        // Nobody sends a request before the last one is answered.
        let isExact = connection.received == length
        counts.withLock { if isExact { $0.uploads.append(length) } else { $0.others += 1 } }
        (connection.length, connection.received) = (nil, 0)
        return isExact
            && Self.response.withUnsafeBytes { Platform.send(connection.descriptor, $0) } == Self.response.count
    }

    private func takeHead(_ bytes: UnsafeRawBufferPointer, _ connection: inout Connection) -> Bool {
        connection.head += bytes
        guard let end = Self.headEnd(connection.head) else {
            if connection.head.count < Self.headLimit { return true }
            counts.withLock { $0.others += 1 }
            return false
        }
        guard let length = Self.contentLength(connection.head[..<end]) else {
            counts.withLock { $0.others += 1 }
            return false
        }
        let rest = Array(connection.head[end...])
        connection.head.removeAll(keepingCapacity: true)
        connection.length = length
        return rest.withUnsafeBytes { take($0, &connection) }
    }

    /// - Returns: where the body begins.
    private static func headEnd(_ bytes: [UInt8]) -> Int? {
        var index = 3
        while index < bytes.count {
            // Only one in four bytes has to be looked at, unless it may belong to the mark.
            switch bytes[index] {
            case UInt8(ascii: "\n"):
                if bytes[(index - 3)...index].elementsEqual(mark) { return index + 1 }
                index += 1
            case UInt8(ascii: "\r"): index += 1
            default: index += 4
            }
        }
        return nil
    }

    private static func contentLength(_ head: ArraySlice<UInt8>) -> Int64? {
        let name = Array("content-length:".utf8)
        for line in head.split(separator: UInt8(ascii: "\n")) where line.count > name.count {
            guard zip(line, name).allSatisfy({ $0 | 0x20 == $1 | 0x20 }) else { continue }
            let value = line.dropFirst(name.count).filter { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            return Int64(String(decoding: value, as: UTF8.self))
        }
        return nil
    }
}
