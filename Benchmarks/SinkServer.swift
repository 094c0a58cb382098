import Foundation

#if canImport(Glibc)
    import Glibc

    private let streamType = CInt(SOCK_STREAM.rawValue)
    private let sendFlags = CInt(MSG_NOSIGNAL)
    /// Has the system drop bytes that it would copy.
    private let discardFlags = CInt(MSG_TRUNC)
#else
    import Darwin

    private let streamType = SOCK_STREAM
    private let sendFlags: CInt = 0
    private let discardFlags: CInt = 0
#endif

/// Accepts uploads that say their length and counts their bytes, all on one thread and with as little work as can be: on a
/// machine with few processors, what a server costs is taken from those that are compared.
// `lock` protects `counts`; the rest belongs to the thread.
final class SinkServer: @unchecked Sendable {
    struct Counts: Codable {
        /// Uploads that have come to their end, by how many bytes they had.
        var uploads: [Int: Int] = [:]
        /// Requests that are none that this server knows.
        var rejections = 0
    }

    private struct Connection {
        var head = Data()
        var length = 0
        /// How much of the body is to come; `nil` between requests.
        var rest: Int?
    }

    let url: URL
    private let listener: CInt
    private let wake: (readEnd: CInt, writeEnd: CInt)
    private let ended = DispatchSemaphore(value: 0)
    private let lock = NSLock()
    private var counts = Counts()
    private var connections: [CInt: Connection] = [:]
    private var buffer = [UInt8](repeating: 0, count: 128 << 10)

    init() throws {
        listener = socket(AF_INET, streamType, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { [listener] pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 512) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        var ends: [CInt] = [0, 0]
        guard isListening, pipe(&ends) == 0,
            let url = URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/file")
        else { throw Failure(description: "the server cannot listen: \(String(cString: strerror(errno)))") }
        self.url = url
        wake = (ends[0], ends[1])
        let thread = Thread { self.run() }
        thread.name = "SinkServer"
        thread.start()
    }

    /// Closes every connection.
    ///
    /// - Returns: what has come.
    func stop() -> Counts {
        close(wake.writeEnd)
        ended.wait()
        return lock.withLock { counts }
    }

    /// Prints the URL, and at the end of standard input what has come.
    static func serveUntilInputEnds() throws {
        let server = try SinkServer()
        try FileHandle.standardOutput.write(contentsOf: Data("\(server.url.absoluteString)\n".utf8))
        while readLine() != nil {}
        try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(server.stop()))
    }

    private func run() {
        defer {
            for descriptor in connections.keys { close(descriptor) }
            close(listener)
            close(wake.readEnd)
            ended.signal()
        }
        var polled = [pollfd(fd: wake.readEnd, events: 0, revents: 0), pollfd(fd: listener, events: 1, revents: 0)]
        polled[0].events = Int16(POLLIN)
        polled[1].events = Int16(POLLIN)
        while true {
            guard poll(&polled, nfds_t(polled.count), -1) > 0 else { continue }
            if polled[0].revents != 0 { return }
            if polled[1].revents != 0 { acceptOne(&polled) }
            for index in polled.indices.dropFirst(2).reversed() where polled[index].revents != 0 {
                if !serve(polled[index].fd) { polled.remove(at: index) }
            }
        }
    }

    private func acceptOne(_ polled: inout [pollfd]) {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else { return }
        var one: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<CInt>.size))
        connections[descriptor] = Connection()
        polled.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
    }

    /// Takes in what is there.
    ///
    /// - Returns: whether the connection is still open.
    private func serve(_ descriptor: CInt) -> Bool {
        guard var connection = connections.removeValue(forKey: descriptor) else { return false }
        let flags = connection.rest == nil ? 0 : discardFlags
        // Not a byte more than belongs to the body, which would be dropped as well.
        let wanted = connection.rest.map { discardFlags == 0 ? min($0, buffer.count) : $0 } ?? buffer.count
        let count = recv(descriptor, &buffer, wanted, flags)
        guard count > 0 else {
            close(descriptor)
            return false
        }
        if let rest = connection.rest {
            connection.rest = rest - count
        } else {
            connection.head.append(contentsOf: buffer[..<count])
            if let end = connection.head.range(of: Data("\r\n\r\n".utf8)) {
                let head = String(decoding: connection.head[..<end.lowerBound], as: UTF8.self).lowercased()
                connection.length = Self.contentLength(head)
                connection.rest = connection.length - (connection.head.endIndex - end.upperBound)
                connection.head = Data()
                if head.contains("expect: 100-continue") { answer(descriptor, "HTTP/1.1 100 Continue\r\n\r\n") }
            }
        }
        if connection.rest == 0 {
            connection.rest = nil
            lock.withLock { counts.uploads[connection.length, default: 0] += 1 }
            answer(descriptor, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        } else if let rest = connection.rest, rest < 0 {
            lock.withLock { counts.rejections += 1 }
            close(descriptor)
            return false
        }
        connections[descriptor] = connection
        return true
    }

    /// -1 for a head that says none.
    private static func contentLength(_ head: String) -> Int {
        let line = head.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
        return line.flatMap { Int($0.dropFirst("content-length:".count).filter { $0 != " " }) } ?? -1
    }

    private func answer(_ descriptor: CInt, _ text: String) {
        var text = text
        text.withUTF8 { _ = send(descriptor, $0.baseAddress, $0.count, sendFlags) }
    }
}
