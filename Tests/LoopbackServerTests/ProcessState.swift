import Foundation

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// How many of the process's descriptors are sockets at this port's or a connection to it.
func openSockets(ofPort port: Int) -> Int {
    func isPort(_ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32) -> Bool {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &length) }
        }
        return result == 0 && Int(UInt16(bigEndian: address.sin_port)) == port
            && address.sin_family == sa_family_t(AF_INET)
    }
    return (0..<Int32(4096)).count { descriptor in
        isPort { getsockname(descriptor, $0, $1) } || isPort { getpeername(descriptor, $0, $1) }
    }
}

func openDescriptors() -> Int {
    (0..<Int32(4096)).count { fcntl($0, F_GETFD) >= 0 }
}

/// Whether the threads of the server at this port come to their end. They have left the server's code when it is
/// stopped; the system takes its time to remove them, and tells nobody when it has.
func threadsEnd(ofPort port: Int) -> Bool {
    #if canImport(Glibc)
        let deadline = ContinuousClock.now.advanced(by: .seconds(10))
        while deadline > .now {
            let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
            let names = tasks.compactMap { try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8) }
            if !names.isEmpty, !names.contains("loopback-\(port)\n") { return true }
            sched_yield()
        }
        return false
    #else
        return true
    #endif
}
