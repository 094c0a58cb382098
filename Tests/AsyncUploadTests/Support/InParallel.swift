/// Applies a function to all elements, a few at a time.
func inParallel<Element: Sendable, Result: Sendable>(
    _ elements: [Element],
    limit: Int,
    _ body: @escaping @Sendable (Element) async throws -> Result
) async throws -> [Result] {
    try await withThrowingTaskGroup(of: Result.self) { group in
        var results: [Result] = []
        var rest = elements[...]
        for _ in 0..<limit {
            if let element = rest.popFirst() { group.addTask { try await body(element) } }
        }
        while let result = try await group.next() {
            results.append(result)
            if let element = rest.popFirst() { group.addTask { try await body(element) } }
        }
        return results
    }
}
