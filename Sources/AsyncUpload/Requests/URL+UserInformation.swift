import Foundation

extension URL {
    /// What an error may say of it: no password, and nothing of what has no host, where a password could be anywhere.
    var textForErrors: String {
        host == nil ? "the URL" : withoutUserInformation.absoluteString
    }

    /// The URL without a user and a password in it.
    var withoutUserInformation: URL {
        guard user != nil || password != nil,
            var components = URLComponents(url: self, resolvingAgainstBaseURL: true)
        else { return self }
        (components.user, components.password) = (nil, nil)
        return components.url ?? self
    }
}
