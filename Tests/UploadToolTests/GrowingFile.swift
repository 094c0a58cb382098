import Foundation
import LoopbackServer

extension LoopbackServer {
    /// Appends to a file while it is being received.
    static func appending(to file: URL) -> Handler {
        { exchange in
            _ = try exchange.readBody(upTo: 1000)
            let handle = try FileHandle(forWritingTo: file)
            try handle.seekToEnd()
            try handle.write(contentsOf: Data("more".utf8))
            try handle.close()
            try exchange.readBody()
        }
    }
}
