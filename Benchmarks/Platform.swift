import Foundation

enum Platform {
    #if canImport(Darwin)
        static let residentSizeUnit = 1

        static let leastPeakOfChildren: Int? = nil
    #else
        static let residentSizeUnit = 1024

        /// Until a child has become another program it counts as large as this process has ever been, and that goes into
        /// its peak.
        static var leastPeakOfChildren: Int? {
            var usage = rusage()
            return getrusage(CInt(RUSAGE_SELF.rawValue), &usage) == 0 ? usage.ru_maxrss * residentSizeUnit : nil
        }
    #endif
}
