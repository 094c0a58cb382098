import Foundation
@testable import LoopbackServer

/// A port that speaks no protocol: it takes the first bytes of each connection and then does one thing.
final class RawListener: Sendable {
    enum Conduct: String, CaseIterable {
        case resets, closes, talksNonsense, staysSilent
    }

    let port: Int
    private let wake: WakePipe

    init(_ conduct: Conduct) throws {
        let wake = try WakePipe()
        let (listener, port) = try Socket.listening(receiveBufferSize: nil)
        (self.port, self.wake) = (port, wake)
        Thread.detachNewThread { Self.serve(listener, conduct, wake) }
    }

    deinit {
        wake.signal()
    }

    /// Runs until the pipe is signalled, and lets go of everything then.
    private static func serve(_ listener: Socket, _ conduct: Conduct, _ wake: WakePipe) {
        var open: [Socket] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while (try? listener.block(for: .reading, wake: wake.readEnd)) == .ready {
            guard let connection = try? listener.acceptConnection() else { continue }
            guard (try? connection.block(for: .reading, wake: wake.readEnd)) == .ready else {
                connection.dispose()
                continue
            }
            _ = try? buffer.withUnsafeMutableBytes { try connection.receive(into: $0) }
            switch conduct {
            case .resets:
                connection.resetWhenClosed()
                connection.dispose()
            case .closes: connection.dispose()
            case .talksNonsense:
                _ = try? Array("What was that? Say it again, please.\r\n".utf8).withUnsafeBytes {
                    try connection.transmit($0)
                }
                open.append(connection)
            case .staysSilent: open.append(connection)
            }
        }
        for socket in open + [listener] { socket.dispose() }
        wake.dispose()
    }
}
