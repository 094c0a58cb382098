import Foundation

/// A way to upload, which is measured in a process of its own.
struct Contestant {
    /// A program to run.
    struct Command {
        var program: String
        var arguments: [String]
        /// Beside what this process has.
        var environment: [String: String] = [:]
    }

    let name: String
    let explanation: String
    let canDo: (Job) -> Bool
    let command: (_ job: Job, _ files: JobFiles, _ url: URL) throws -> Command
    /// How long the uploads took without the start of the process, read from what the program has printed; `nil` when it
    /// does not tell.
    var seconds: (_ output: String) -> Double? = { Double($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
}

extension Contestant {
    /// Runs it once.
    func measure(_ job: Job, _ files: JobFiles, _ url: URL) throws -> Measurement {
        let command = try command(job, files, url)
        let usage = try ProcessUsage(running: command.program, command.arguments, environment: command.environment)
        return Measurement(
            seconds: usage.seconds,
            inProcessSeconds: seconds(usage.output),
            processorSeconds: usage.processorSeconds,
            peakMebibytes: usage.peakMebibytes,
            contextSwitches: usage.contextSwitches,
            descriptors: usage.descriptors
        )
    }

    /// - Returns: where a program is, `nil` when it is not on the PATH.
    static func find(_ program: String) -> String? {
        let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
        return folders.map { "\($0)/\(program)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
