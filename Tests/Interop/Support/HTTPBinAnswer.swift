/// What httpbin has found in a request.
struct HTTPBinAnswer: Decodable {
    let form: [String: OneOrMany]
    /// As they are if that is text, as data URIs otherwise.
    let files: [String: String]
    /// What is no form.
    let data: String
    let headers: [String: String]
}

/// What httpbin says about a name: the value, or all of them where there are more.
enum OneOrMany: Decodable, Equatable {
    case one(String)
    case many([String])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        do {
            self = .one(try container.decode(String.self))
        } catch {
            self = .many(try container.decode([String].self))
        }
    }
}
