import Foundation

/// What this process holds at the moment; on Linux only.
struct ProcessResources: Sendable {
    var descriptors: Int
    var threads: Int
    /// In bytes.
    var residentSize: Int
    var peakResidentSize: Int

    static var current: ProcessResources {
        ProcessResources(
            descriptors: count(of: "/proc/self/fd"),
            threads: count(of: "/proc/self/task"),
            residentSize: status("VmRSS"),
            peakResidentSize: status("VmHWM")
        )
    }

    /// Whether a sanitizer watches this process; its own memory and threads make figures meaningless.
    static let isSanitized = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil

    /// Forgets the peak so far.
    static func resetPeak() throws {
        try Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs"))
    }

    private static func count(of folder: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? 0
    }

    /// A value of `/proc/self/status` that is given in kilobytes.
    private static func status(_ name: String) -> Int {
        guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return 0 }
        let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        let number = line?.split(whereSeparator: { !$0.isNumber }).first
        return (number.flatMap { Int($0) } ?? 0) * 1024
    }
}
