import Foundation

/// What one run of this program, in a process of its own, took.
struct ProcessUsage {
    let seconds: Double
    /// User and system time.
    let processorSeconds: Double
    /// In bytes.
    let peakResidentSize: Int

    /// Runs this program with the given arguments to its end.
    ///
    /// - Throws: an error when it cannot be started or fails.
    init(running arguments: [String]) throws {
        var argv = ([CommandLine.arguments[0]] + arguments).map { strdup($0) } + [nil]
        var environment = ProcessInfo.processInfo.environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { (argv + environment).forEach { free($0) } }
        let start = ContinuousClock.now
        var child = pid_t()
        let failure = posix_spawnp(&child, CommandLine.arguments[0], nil, nil, &argv, &environment)
        guard failure == 0 else { throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .EIO) }
        var status: CInt = 0
        var usage = rusage()
        while wait4(child, &status, 0, &usage) < 0 {
            guard errno == EINTR else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        }
        guard status == 0 else { throw CocoaError(.executableLoad) }
        seconds = (ContinuousClock.now - start) / .seconds(1)
        processorSeconds = Self.seconds(usage.ru_utime) + Self.seconds(usage.ru_stime)
        // Linux counts in kilobytes, Darwin in bytes.
        peakResidentSize = Int(usage.ru_maxrss) * Platform.residentSizeUnit
    }

    private static func seconds(_ time: timeval) -> Double {
        Double(time.tv_sec) + Double(time.tv_usec) / 1e6
    }
}
