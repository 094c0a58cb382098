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

    private static let bufferSize = 1 << 20
    private static let headLimit = 64 << 10
    private static let name = Array("content-length:".utf8)
    private static let carriageReturn = UInt8(ascii: "\r")
    private static let lineFeed = UInt8(ascii: "\n")
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
        var requests = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bufferSize, alignment: 64)
        while true {
            guard poll(&requests, nfds_t(requests.count), -1) > 0 else { continue }
            for index in connections.indices.reversed() where requests[index + 1].revents != 0 {
                if receive(&connections[index], buffer) { continue }
                close(connections[index].descriptor)
                connections.remove(at: index)
                requests.remove(at: index + 1)
            }
            guard requests[0].revents != 0 else { continue }
            let descriptor = accept(listener, nil, nil)
            guard descriptor >= 0 else { continue }
            connections.append(Connection(descriptor: descriptor))
            requests.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
        }
    }

    /// - Returns: whether the connection goes on.
    private func receive(_ connection: inout Connection, _ buffer: UnsafeMutableRawBufferPointer) -> Bool {
        let rest = connection.length.map { $0 - connection.received }
        let count =
            if let rest {
                Platform.discard(connection.descriptor, buffer, atMost: rest)
            } else {
                recv(connection.descriptor, buffer.baseAddress, buffer.count, 0)
            }
        guard count > 0 else {
            if rest != nil || !connection.head.isEmpty { counts.withLock { $0.others += 1 } }
            return false
        }
        if rest != nil { return take(count, &connection) }
        let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
        if connection.head.isEmpty, let end = Self.headEnd(bytes) { return takeHead(bytes, end, &connection) }
        connection.head += bytes
        let head = connection.head
        return head.withUnsafeBytes { bytes in
            guard let end = Self.headEnd(bytes) else {
                let isMeant = bytes.count < Self.headLimit
                if !isMeant { counts.withLock { $0.others += 1 } }
                return isMeant
            }
            return takeHead(bytes, end, &connection)
        }
    }

    private func takeHead(_ bytes: UnsafeRawBufferPointer, _ end: Int, _ connection: inout Connection) -> Bool {
        connection.head = []
        guard let length = Self.contentLength(bytes, end) else {
            counts.withLock { $0.others += 1 }
            return false
        }
        connection.length = length
        return take(bytes.count - end, &connection)
    }

    /// - Parameter count: how many bytes of the body have come.
    private func take(_ count: Int, _ connection: inout Connection) -> Bool {
        guard let length = connection.length else { return false }
        connection.received += Int64(count)
        guard connection.received >= length else { return true }
        // Nobody sends a request before the last one is answered.
        let isExact = connection.received == length
        counts.withLock { if isExact { $0.uploads.append(length) } else { $0.others += 1 } }
        (connection.length, connection.received) = (nil, 0)
        return isExact
            && Self.response.withUnsafeBytes { Platform.send(connection.descriptor, $0) } == Self.response.count
    }

    /// - Returns: where the body begins.
    private static func headEnd(_ bytes: UnsafeRawBufferPointer) -> Int? {
        var index = 3
        while index < bytes.count {
            // Only one in four bytes has to be looked at, unless it may belong to the mark.
            switch bytes[index] {
            case lineFeed:
                if bytes[index - 1] == carriageReturn, bytes[index - 2] == lineFeed, bytes[index - 3] == carriageReturn
                {
                    return index + 1
                }
                index += 1
            case carriageReturn: index += 1
            default: index += 4
            }
        }
        return nil
    }

    private static func contentLength(_ bytes: UnsafeRawBufferPointer, _ end: Int) -> Int64? {
        var line = 0
        while line < end {
            var index = 0
            while index < name.count, line + index < end, bytes[line + index] | 0x20 == name[index] | 0x20 {
                index += 1
            }
            if index == name.count {
                var length: Int64 = 0
                for byte in bytes[(line + index)..<end] {
                    if byte == carriageReturn { return length }
                    guard byte != UInt8(ascii: " ") else { continue }
                    guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte), length < 1 << 50 else { return nil }
                    length = length * 10 + Int64(byte - UInt8(ascii: "0"))
                }
            }
            while line < end, bytes[line] != lineFeed { line += 1 }
            line += 1
        }
        return nil
    }
}
