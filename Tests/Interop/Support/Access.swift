import Foundation

/// A request as the server's log has it. What was not there is an empty text.
struct Access: Decodable, Sendable {
    let method: String
    let path: String
    let status: String
    /// The value of `Content-Length`.
    let length: String
    /// The value of `Transfer-Encoding`.
    let coding: String
    let expect: String
    /// How many bytes came, the head included.
    let received: String
    let version: String
    /// The number of the connection.
    let connection: String

    /// - Parameter log: one JSON object in each line.
    static func all(in log: Data) throws -> [Access] {
        try log.split(separator: UInt8(ascii: "\n")).map { try JSONDecoder().decode(Access.self, from: $0) }
    }
}
