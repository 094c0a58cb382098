#if os(Linux)
    import Foundation
    import Testing

    @testable import AsyncUpload

    @Suite("The sockets of a session", .timeLimit(.minutes(5)))
    struct CurlSocketsTests {
        private static func address(_ port: UInt16) -> sockaddr_in {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            return address
        }

        private static func port(of socket: CInt) -> UInt16 {
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            _ = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
            }
            return UInt16(bigEndian: address.sin_port)
        }

        private static func with(
            _ address: sockaddr_in,
            _ call: (UnsafePointer<sockaddr>, socklen_t) -> CInt
        ) -> Bool {
            withUnsafePointer(to: address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    call($0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
        }

        private static func listener() throws -> CInt {
            let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
            try #require(with(address(0)) { bind(listener, $0, $1) } && listen(listener, 5) == 0)
            return listener
        }

        /// A connection from a given port, or from any.
        private static func connection(from local: UInt16, to listener: CInt) throws -> CInt {
            let connection = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
            var one: CInt = 1
            setsockopt(connection, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<CInt>.size))
            try #require(with(address(local)) { bind(connection, $0, $1) })
            try #require(with(address(port(of: listener))) { connect(connection, $0, $1) })
            return connection
        }

        @Test("A socket is found by its local port, unless two have the same")
        func sharedPort() throws {
            let listeners = [try Self.listener(), try Self.listener()]
            let first = try Self.connection(from: 0, to: listeners[0])
            let port = Self.port(of: first)
            let second = try Self.connection(from: port, to: listeners[1])
            defer { for socket in listeners + [first, second] { close(socket) } }
            let sockets = CurlSockets()
            #expect(sockets.socket(atLocalPort: CInt(port)) == -1)
            sockets.opened(first)
            #expect(sockets.socket(atLocalPort: CInt(port)) == first)
            sockets.opened(second)
            #expect(sockets.socket(atLocalPort: CInt(port)) == -1)
            sockets.take(from: first)
            #expect(sockets.socket(atLocalPort: CInt(port)) == second)
            // A number that comes again without an end in between is a new socket.
            sockets.opened(second)
            #expect(sockets.socket(atLocalPort: CInt(port)) == second)
            sockets.take(from: second)
            #expect(sockets.socket(atLocalPort: CInt(port)) == -1)
        }
    }
#endif
