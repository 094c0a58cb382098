import Foundation

/// What one run of a program, in a process of its own, took.
struct ProcessUsage {
    let seconds: Double
    /// User and system time.
    let processorSeconds: Double
    let peakMebibytes: Double

    /// Runs a program with the given arguments to its end.
    ///
    /// - Throws: an error when it cannot be started or fails.
    init(running program: String, _ arguments: [String]) throws {
        var argv = ([program] + arguments).map { strdup($0) } + [nil]
        var environment = ProcessInfo.processInfo.environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { (argv + environment).forEach { free($0) } }
        let start = ContinuousClock.now
        var child = pid_t()
        let failure = posix_spawnp(&child, program, nil, nil, &argv, &environment)
        guard failure == 0 else { throw Failure(description: "\(program): \(String(cString: strerror(failure)))") }
        var status: CInt = 0
        var usage = rusage()
        while wait4(child, &status, 0, &usage) < 0 {
            guard errno == EINTR else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        }
        seconds = (ContinuousClock.now - start) / .seconds(1)
        guard status == 0 else { throw Failure(description: "\(program) failed, wait status \(status)") }
        processorSeconds = Self.seconds(usage.ru_utime) + Self.seconds(usage.ru_stime)
        // Linux counts in kilobytes, Darwin in bytes.
        peakMebibytes = Double(usage.ru_maxrss * Platform.residentSizeUnit) / 1_048_576
    }

    private static func seconds(_ time: timeval) -> Double {
        Double(time.tv_sec) + Double(time.tv_usec) / 1e6
    }
}
