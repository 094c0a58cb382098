// The only file that knows which platform this is.

import Foundation

#if canImport(Glibc)
    import Glibc

    /// libcurl leaves out a field whose value is blank, its own default of that name included.
    private let blankField: String? = " "

    extension stat {
        fileprivate var modificationTime: timespec { st_mtim }
    }
#else
    import Darwin

    private let blankField: String? = nil

    extension stat {
        fileprivate var modificationTime: timespec { st_mtimespec }
    }
#endif

enum Platform {
    /// The value that keeps a header field which would be added by default from being sent; `nil` where nothing does.
    static let valueOfRemovedField = blankField

    /// Writing to a pipe that nobody reads is an error then, not the end of the process.
    static func ignoreBrokenPipes() {
        ignore(SIGPIPE)
    }

    /// Has a function called for a signal.
    ///
    /// - Returns: whether the signal was ignored before.
    static func handle(_ number: Int32, with handler: @escaping @convention(c) (Int32) -> Void) -> Bool {
        unsafeBitCast(signal(number, handler), to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    static func ignore(_ number: Int32) {
        _ = signal(number, SIG_IGN)
    }

    /// Writes as much as the system takes.
    ///
    /// - Returns: how many bytes, or -1 with `errno` set.
    static func put(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int {
        write(descriptor, bytes.baseAddress, bytes.count)
    }

    /// Reads what there is, and waits for it if there is nothing.
    ///
    /// - Returns: how many bytes, 0 at the end, or -1 with `errno` set.
    static func take(_ bytes: UnsafeMutableRawBufferPointer, from descriptor: Int32) -> Int {
        read(descriptor, bytes.baseAddress, bytes.count)
    }

    static func modificationTime(of status: stat) -> timespec { status.modificationTime }

    static func isTerminal(_ descriptor: Int32) -> Bool {
        isatty(descriptor) == 1
    }

    /// The columns of the terminal that standard error goes to, or those that the environment tells, or 80.
    static var terminalWidth: Int {
        var size = winsize()
        if ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 { return Int(size.ws_col) }
        guard let columns = ProcessInfo.processInfo.environment["COLUMNS"].flatMap({ Int($0) }), columns > 0 else {
            return 80
        }
        return min(columns, 1000)
    }

    /// Whether the locale's encoding is UTF-8.
    static var usesUnicode: Bool { isUTF8(ProcessInfo.processInfo.environment) }

    /// The first of the variables that is set and not empty decides, as in POSIX.
    static func isUTF8(_ environment: [String: String]) -> Bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
        return ["utf-8", "utf8"].contains { locale.lowercased().contains($0) }
    }
}
