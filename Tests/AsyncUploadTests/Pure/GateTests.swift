import Testing

@testable import AsyncUpload

@Suite("A gate opens once and for ever", .timeLimit(.minutes(5)))
struct GateTests {
    @Test("It is closed until it is opened")
    func opening() {
        let gate = Gate()
        #expect(!gate.isOpen)
        gate.open()
        #expect(gate.isOpen)
        gate.open()
        #expect(gate.isOpen)
    }

    @Test("Everybody gets through: those who wait and those who come later, the cancelled too")
    func everybody() async {
        let gate = Gate()
        let passed = Locked(0)
        let tasks = (0..<200).map { number in
            let task = Task {
                await gate.wait()
                #expect(gate.isOpen)
                passed.withLock { $0 += 1 }
            }
            if number.isMultiple(of: 3) { task.cancel() }
            return task
        }
        #expect(passed.withLock { $0 } == 0)
        await Task.yield()
        #expect(passed.withLock { $0 } == 0)
        gate.open()
        for task in tasks { await task.value }
        await gate.wait()
        #expect(passed.withLock { $0 } == 200)
    }
}
