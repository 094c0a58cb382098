import Foundation

extension URL {
    /// The URL without a user and a password in it.
    var withoutUserInformation: URL {
        guard user != nil || password != nil,
            var components = URLComponents(url: self, resolvingAgainstBaseURL: true)
        else { return self }
        (components.user, components.password) = (nil, nil)
        return components.url ?? self
    }
}
