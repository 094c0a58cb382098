#if os(Linux)
    import CLibcurl
    import Foundation

    /// Knows the sockets of a session, and what a server had said before its connection was closed and nobody had read.
    ///
    /// libcurl itself does not tell which socket a transfer uses while it runs, only the local port.
    ///
    /// A server that refuses a body may answer and reset the connection at once. libcurl gives up as soon as it cannot send,
    /// although the answer is there: it is read when libcurl closes the socket.
    final class CurlSockets: @unchecked Sendable {
        // Only touched on the thread of its session, where libcurl closes sockets, too.
        private var words: [CInt: Data] = [:]
        /// Those whose local ports are not known yet.
        private var new: Set<CInt> = []
        /// The others, by local port: the system may give one to several connections with different servers.
        private var open: [CInt: Set<CInt>] = [:]
        private var corked: [CInt] = []

        /// More than any head, and enough of a body to tell why.
        private static let limit = 64 << 10

        /// Has libcurl report the sockets of connections that this handle opens to this object, which must live as long.
        func watch(_ easy: OpaquePointer) {
            clibcurl_set_pointer(easy, CurlOption.socketData, Unmanaged.passUnretained(self).toOpaque())
            clibcurl_set_socket_function(easy, CurlOption.socketFunction) { context, socket, _ in
                if let context { Unmanaged<CurlSockets>.fromOpaque(context).takeUnretainedValue().opened(socket) }
                return 0
            }
            clibcurl_set_pointer(easy, CurlOption.closeSocketData, Unmanaged.passUnretained(self).toOpaque())
            clibcurl_set_close_socket_function(easy, CurlOption.closeSocketFunction) { context, socket in
                if let context { Unmanaged<CurlSockets>.fromOpaque(context).takeUnretainedValue().take(from: socket) }
                return close(socket)
            }
        }

        /// The socket of a connection; -1 when there is none, or more than one that could be it.
        func socket(atLocalPort port: CInt) -> CInt {
            for socket in new {
                let port = Self.localPort(of: socket)
                guard port > 0 else { continue }
                open[port, default: []].insert(socket)
                new.remove(socket)
            }
            let sockets = open[port] ?? []
            return sockets.count == 1 ? sockets.first ?? -1 : -1
        }

        /// The number may be that of a socket whose end nobody told of.
        func opened(_ socket: CInt) {
            remove(socket)
            new.insert(socket)
        }

        private func remove(_ socket: CInt) {
            new.remove(socket)
            for (port, sockets) in open where sockets.contains(socket) {
                open[port] = sockets.count == 1 ? nil : sockets.subtracting([socket])
            }
        }

        /// Has the system send nothing on a socket before it is enough for a packet, until ``uncork()``.
        ///
        /// libcurl sends head and body one by one, which costs a small upload a packet more, and both systems the work.
        func cork(_ socket: CInt) {
            if Self.setCork(1, on: socket) { corked.append(socket) }
        }

        /// Has everything sent that was held back.
        func uncork() {
            for socket in corked { _ = Self.setCork(0, on: socket) }
            corked.removeAll(keepingCapacity: true)
        }

        private static func setCork(_ value: CInt, on socket: CInt) -> Bool {
            var value = value
            return setsockopt(socket, CInt(IPPROTO_TCP), TCP_CORK, &value, socklen_t(MemoryLayout<CInt>.size)) == 0
        }

        /// A connection has been given up, and its socket is about to be closed.
        func take(from socket: CInt) {
            let port = Self.localPort(of: socket)
            remove(socket)
            corked.removeAll { $0 == socket }
            var data = Data(count: Self.limit)
            let count = data.withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, CInt(MSG_DONTWAIT)) }
            data.removeSubrange(max(0, count)...)
            // Whose they are must be beyond doubt.
            if !data.isEmpty, open[port] == nil { words[port] = data }
        }

        private static func localPort(of socket: CInt) -> CInt {
            var address = sockaddr_in6()
            var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
            let result = withUnsafeMutablePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
            }
            // Both families have it at the same place.
            return result == 0 ? CInt(UInt16(bigEndian: address.sin6_port)) : 0
        }

        /// What came on a connection that has been closed since ``forget()``.
        func fromConnection(atLocalPort port: CInt) -> Data? { words[port] }

        /// Ports are used again.
        func forget() {
            if !words.isEmpty { words = [:] }
        }
    }
#endif
