import Foundation

/// The bytes of one request body, open for reading.
///
/// A source can be read any number of times and from any offset: a redirect, a challenge and a retry each send
/// the body again from its start. It may be read from any thread. What it holds open is closed when the last
/// reference to it goes away, so a late read on another thread can never meet a descriptor that was reused.
protocol BodySource: AnyObject, Sendable {
    /// How many bytes there are; never changes during the life of the source.
    var length: Int64 { get }

    /// What `URLSession` could send by its own means.
    var contents: BodyContents { get }

    /// The files that it is read from, as they were when it was opened.
    var files: [FileStatus] { get }

    /// Reads up to `buffer.count` bytes that start at `offset`, without blocking for long.
    ///
    /// - Returns: how many bytes were read; 0 only at the end, which is at `length`.
    /// - Throws: ``UploadError`` when the bytes cannot be had or are no longer those that were announced.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int

    /// Throws ``UploadError/Code-swift.struct/fileChanged`` if the body is no longer what it was when it was opened.
    func checkUnchanged() throws

    /// Throws ``UploadError/Code-swift.struct/fileChanged`` if the name of the body's file now stands for another file.
    /// That matters only to who opens it by name.
    func checkNameUnchanged() throws
}

/// Where the bytes of a body are.
enum BodyContents: Sendable {
    case data(Data)
    case file(URL)
    /// In several places.
    case composite
}
