public import Foundation

public final class LoopbackServer: Sendable {}
