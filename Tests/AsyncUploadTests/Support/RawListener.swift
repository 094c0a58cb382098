import Foundation
@testable import LoopbackServer

/// A port that speaks no protocol: it does one thing to each connection.
final class RawListener: Sendable {
    enum Conduct: String, CaseIterable {
        case resets, closes, talksNonsense, staysSilent
    }

    enum Moment {
        /// Before anything was said. What is reset then is no connection, and what is met with silence never becomes one.
        case atOnce
        case afterFirstBytes
    }

    static let nonsense = "What was that? Say it again, please.\r\n"

    let port: Int
    private let wake: WakePipe

    init(_ conduct: Conduct, _ moment: Moment = .afterFirstBytes) throws {
        let wake = try WakePipe()
        let accepts = moment == .afterFirstBytes || conduct == .closes || conduct == .talksNonsense
        let backlog: Int32? = if accepts { 1024 } else { conduct == .resets ? nil : 0 }
        let (listener, port) = try Socket.listening(receiveBufferSize: nil, backlog: backlog)
        (self.port, self.wake) = (port, wake)
        // Those are what nobody accepts; the system takes no notice of the ones that come after them.
        let fillers = backlog == 0 ? (0..<2).compactMap { _ in Self.connection(to: port) } : []
        Thread.detachNewThread {
            if accepts {
                Self.serve(listener, conduct, moment, wake)
            } else {
                _ = wake.wait(milliseconds: -1)
            }
            for socket in fillers + [listener] { socket.dispose() }
            wake.dispose()
        }
    }

    deinit {
        wake.signal()
    }

    /// Runs until the pipe is signalled, and lets go of the connections then.
    private static func serve(_ listener: Socket, _ conduct: Conduct, _ moment: Moment, _ wake: WakePipe) {
        var open: [Socket] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while (try? listener.block(for: .reading, wake: wake.readEnd)) == .ready {
            guard let connection = try? listener.acceptConnection() else { continue }
            // What the peers have given up is not kept.
            open.removeAll { socket in
                guard (try? socket.block(for: .hangUp, wake: wake.readEnd, until: .now)) == .ready else { return false }
                socket.dispose()
                return true
            }
            if moment == .afterFirstBytes {
                guard (try? connection.block(for: .reading, wake: wake.readEnd)) == .ready else {
                    connection.dispose()
                    continue
                }
                _ = try? buffer.withUnsafeMutableBytes { try connection.receive(into: $0) }
            }
            switch conduct {
            case .resets:
                connection.resetWhenClosed()
                connection.dispose()
            case .closes: connection.dispose()
            case .talksNonsense:
                _ = try? Array(nonsense.utf8).withUnsafeBytes { try connection.transmit($0) }
                open.append(connection)
            case .staysSilent: open.append(connection)
            }
        }
        for socket in open { socket.dispose() }
    }

    /// A connection that is begun and not waited for.
    private static func connection(to port: Int) -> Socket? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                _ = connect(descriptor, raw, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return Socket(descriptor: descriptor)
    }
}
