import Foundation

enum Platform {
    #if canImport(Darwin)
        static let residentSizeUnit = 1

        static let leastPeakOfChildren: Int? = nil

        static var noSpawnActions: posix_spawn_file_actions_t? { nil }

        /// Nothing to do where nobody counts a child's descriptors.
        static func keepDescriptors() {}

        static func descriptorCount(of process: pid_t) -> Int? { nil }

        static func streamSocket() -> CInt { socket(AF_INET, SOCK_STREAM, 0) }

        /// Receives what nobody looks at.
        static func discard(_ descriptor: CInt, _ buffer: UnsafeMutableRawBufferPointer, atMost count: Int64) -> Int {
            recv(descriptor, buffer.baseAddress, Int(min(Int64(buffer.count), count)), 0)
        }

        static func send(_ descriptor: CInt, _ bytes: UnsafeRawBufferPointer) -> Int {
            Darwin.send(descriptor, bytes.baseAddress, bytes.count, 0)
        }
    #else
        static let residentSizeUnit = 1024

        /// Until a child has become another program it counts as large as this process has ever been, and that goes into
        /// its peak.
        static var leastPeakOfChildren: Int? {
            var usage = rusage()
            return getrusage(CInt(RUSAGE_SELF.rawValue), &usage) == 0 ? usage.ru_maxrss * residentSizeUnit : nil
        }

        static var noSpawnActions: posix_spawn_file_actions_t { posix_spawn_file_actions_t() }

        /// Has no child inherit any but the standard ones: they would be counted as its own.
        static func keepDescriptors() {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
            for descriptor in names.compactMap({ CInt($0) }) where descriptor > 2 {
                _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            }
        }

        static func descriptorCount(of process: pid_t) -> Int? {
            (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd"))?.count
        }

        static func streamSocket() -> CInt { socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0) }

        /// Receives what nobody looks at, without copying it.
        static func discard(_ descriptor: CInt, _ buffer: UnsafeMutableRawBufferPointer, atMost count: Int64) -> Int {
            recv(descriptor, buffer.baseAddress, Int(min(Int64(buffer.count), count)), CInt(MSG_TRUNC))
        }

        /// Without a signal when nobody is there any more.
        static func send(_ descriptor: CInt, _ bytes: UnsafeRawBufferPointer) -> Int {
            Glibc.send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
        }
    #endif

    /// For people.
    static var machine: String {
        let information = ProcessInfo.processInfo
        let memory = information.physicalMemory >> 30
        return "\(information.operatingSystemVersionString), \(information.activeProcessorCount) cores, \(memory) GiB"
    }
}
