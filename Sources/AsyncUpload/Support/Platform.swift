import Foundation

#if canImport(FoundationNetworking)
    // `URLRequest` and its kin are the currency of this module; on Linux they live in a module of their own.
    @_exported public import FoundationNetworking
#endif

/// What differs between the platforms, as values, so that the code that depends on it stays in one piece.
enum Platform {
    #if canImport(FoundationNetworking)
        /// Whether `URLSession` is the one of swift-corelibs-foundation, a wrapper around libcurl.
        static let usesFoundationNetworking = true
    #else
        static let usesFoundationNetworking = false
    #endif
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
