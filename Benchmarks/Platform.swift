enum Platform {
    #if canImport(Darwin)
        static let residentSizeUnit = 1
    #else
        static let residentSizeUnit = 1024
    #endif
}
