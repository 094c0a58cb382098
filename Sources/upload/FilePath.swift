import Foundation

/// Paths as they are typed.
enum FilePath {
    /// Seen from the root, without any other change: `~` is a name like any other here, the shell has seen to it.
    static func absolute(_ path: String) -> String {
        path.utf8.first == UInt8(ascii: "/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }

    /// What comes after the last slash, the whole if that is nothing.
    ///
    /// Works on bytes: in a `String` a combining mark would hide the slash before it.
    static func name(_ path: String) -> String {
        path.utf8.split(separator: UInt8(ascii: "/")).last.flatMap { String($0) } ?? path
    }

    static func url(_ path: String) -> URL {
        URL(fileURLWithPath: absolute(path))
    }

    /// 0 for what has no size; the library tells what is wrong with it.
    static func size(_ path: String) -> Int64 {
        let attributes = try? FileManager.default.attributesOfItem(atPath: url(path).resolvingSymlinksInPath().path)
        return (attributes?[.size] as? NSNumber)?.int64Value ?? 0
    }
}
