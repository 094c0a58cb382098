import Foundation

#if canImport(FoundationNetworking)
    // `URLRequest` and its kin are the currency of this module; on Linux they live in a module of their own.
    @_exported public import FoundationNetworking
#else
    @_exported public import Foundation
#endif

/// What differs between the platforms, as values, so that the code that depends on it stays in one piece.
enum Platform {
    #if canImport(FoundationNetworking)
        /// Whether `URLSession` is the one of swift-corelibs-foundation, a wrapper around libcurl.
        static let usesFoundationNetworking = true
    #else
        static let usesFoundationNetworking = false
    #endif

    /// Writes as much as the system takes.
    ///
    /// - Returns: how many bytes, or -1 with `errno` set.
    static func put(_ bytes: UnsafeRawBufferPointer, to descriptor: CInt) -> Int {
        write(descriptor, bytes.baseAddress, bytes.count)
    }

    /// Reads as much as the system gives; nothing at the end.
    ///
    /// - Returns: how many bytes, or -1 with `errno` set.
    static func get(_ bytes: UnsafeMutableRawBufferPointer, from descriptor: CInt) -> Int {
        read(descriptor, bytes.baseAddress, bytes.count)
    }
}

#if canImport(Darwin)
    extension stat {
        /// When the file's contents were last modified.
        var modificationTime: timespec { st_mtimespec }
    }
#else
    extension stat {
        /// When the file's contents were last modified.
        var modificationTime: timespec { st_mtim }
    }
#endif
