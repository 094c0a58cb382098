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

    /// Gives back what the allocator keeps for later: that is nothing that piles up.
    static func trimMemory() {
        guard let function = dlsym(nil, "malloc_trim") else { return }
        _ = unsafeBitCast(function, to: (@convention(c) (Int) -> CInt).self)(0)
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

/// I6: what this process still holds of what it has done since, if anything, and what is in the folder for temporary files.
///
/// The system's own pools of threads come and go, and each has some descriptors.
func leftovers(since before: ProcessResources, in folder: ScratchFolder) async throws -> String? {
    let deadline = ContinuousClock.now + .seconds(20)
    while true {
        let now = ProcessResources.current
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
        if now.descriptors <= before.descriptors + 4, now.threads <= before.threads + 8, names.isEmpty { return nil }
        guard ContinuousClock.now < deadline else { return "left: \(now), \(names); before: \(before)" }
        try await Task.sleep(for: .milliseconds(20))
    }
}
