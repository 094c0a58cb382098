import Foundation

/// Ctrl-C and polite requests to end.
final class Interruption {
    private let sources: [any DispatchSourceSignal]

    /// Takes the signals over from the system; that of a closed terminal only if nobody wants it ignored.
    init() {
        let queue = DispatchQueue(label: "upload.Interruption")
        sources = [SIGINT, SIGTERM, SIGHUP].compactMap { number in
            if Platform.leaveToDispatchSource(number), number == SIGHUP {
                Platform.ignore(number)
                return nil
            }
            return DispatchSource.makeSignalSource(signal: number, queue: queue)
        }
    }

    /// Calls the closure at the first signal; the second one ends the process at once.
    func onFirst(_ action: @escaping @Sendable () -> Void) {
        let count = SignalCount()
        for source in sources {
            source.setEventHandler {
                guard count.next() > 1 else { return action() }
                TemporaryFiles.removeAll()
                StandardStream.error.write("\n")
                _exit(ExitStatus.interrupted.rawValue)
            }
            source.resume()
        }
    }
}

/// Counts signals.
// Only touched on the queue of the interruption.
private final class SignalCount: @unchecked Sendable {
    private var count = 0

    func next() -> Int {
        count += 1
        return count
    }
}
