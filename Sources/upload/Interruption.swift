import Foundation

/// Ctrl-C and polite requests to end.
///
/// A signal's handler writes its number into a pipe. Unlike a dispatch source for signals, it is in place as soon as it is
/// set: there is no moment in which a signal ends the process with its files left behind.
final class Interruption {
    private let source: any DispatchSourceRead

    /// Takes the signals over from the system; that of a closed terminal only if nobody wants it ignored, as `nohup` does.
    ///
    /// - Throws: when there are no descriptors left.
    init(onFirst action: @escaping @Sendable () -> Void) throws(SystemError) {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemError(number: errno) }
        let reader = ends[0]
        writeEnd = ends[1]
        source = DispatchSource.makeReadSource(
            fileDescriptor: reader,
            queue: DispatchQueue(label: "upload.Interruption")
        )
        let count = SignalCount()
        source.setEventHandler {
            var numbers = [UInt8](repeating: 0, count: 16)
            let received = read(reader, &numbers, numbers.count)
            for _ in 0..<max(0, received) where count.next() > 1 {
                // The second one means at once.
                TemporaryFiles.removeAll()
                StandardStream.error.write("\n")
                _exit(ExitStatus.interrupted.rawValue)
            }
            if received > 0, count.isFirst { action() }
        }
        source.resume()
        for number in [SIGINT, SIGTERM, SIGHUP] {
            let wasIgnored = Platform.handle(number, with: noteSignal)
            if wasIgnored, number == SIGHUP { Platform.ignore(number) }
        }
    }
}

// Set once, before the first handler is; a handler can reach nothing but a global.
nonisolated(unsafe) private var writeEnd: CInt = -1

/// Does only what a signal's handler may do.
private func noteSignal(_ number: CInt) {
    let saved = errno
    var byte = UInt8(truncatingIfNeeded: number)
    _ = write(writeEnd, &byte, 1)
    errno = saved
}

/// Counts signals.
// Only touched on the queue of the interruption.
private final class SignalCount: @unchecked Sendable {
    private var count = 0

    var isFirst: Bool { count == 1 }

    func next() -> Int {
        count += 1
        return count
    }
}
