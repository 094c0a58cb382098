import Foundation

/// What one run of a program, in a process of its own, took.
struct ProcessUsage {
    let seconds: Double
    /// User and system time, with that of the processes which it has waited for.
    let processorSeconds: Double
    let peakMebibytes: Double
    /// Voluntary and involuntary ones.
    let contextSwitches: Double
    /// The most that were seen open; `nil` where the system does not tell, or the end came too soon.
    let descriptors: Double?
    /// What it has printed.
    let output: String

    /// Runs a program to its end.
    ///
    /// - Parameters:
    ///   - arguments: without the program itself.
    ///   - environment: beside what this process has.
    /// - Throws: an error when it cannot be started or fails.
    init(running program: String, _ arguments: [String], environment: [String: String] = [:]) throws {
        let output = Pipe()
        let start = ContinuousClock.now
        let child = try Self.spawn(program, arguments, environment, output.fileHandleForWriting.fileDescriptor)
        try output.fileHandleForWriting.close()
        let watch = DescriptorWatch(child)
        self.output = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        var status: CInt = 0
        var usage = rusage()
        while wait4(child, &status, 0, &usage) < 0 {
            guard errno == EINTR else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        }
        seconds = (ContinuousClock.now - start) / .seconds(1)
        descriptors = watch.stop().map(Double.init)
        guard status == 0 else { throw Failure(description: "\(program) failed, wait status \(status)") }
        processorSeconds = Self.seconds(usage.ru_utime) + Self.seconds(usage.ru_stime)
        // Linux counts in kilobytes, Darwin in bytes.
        peakMebibytes = Double(usage.ru_maxrss * Platform.residentSizeUnit) / 1_048_576
        contextSwitches = Double(usage.ru_nvcsw + usage.ru_nivcsw)
    }

    private static func spawn(
        _ program: String,
        _ arguments: [String],
        _ environment: [String: String],
        _ output: CInt
    ) throws -> pid_t {
        let surroundings = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        var argv = ([program] + arguments).map { strdup($0) } + [nil]
        var variables = surroundings.map { strdup("\($0)=\($1)") } + [nil]
        defer { (argv + variables).forEach { free($0) } }
        var actions = Platform.noSpawnActions
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        Platform.keepDescriptors()
        var child = pid_t()
        let failure = posix_spawnp(&child, program, &actions, nil, &argv, &variables)
        guard failure == 0 else { throw Failure(description: "\(program): \(String(cString: strerror(failure)))") }
        return child
    }

    private static func seconds(_ time: timeval) -> Double {
        Double(time.tv_sec) + Double(time.tv_usec) / 1e6
    }
}
