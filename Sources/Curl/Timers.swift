/// What is to be done at a later moment: a binary heap by deadline. Canceled entries are dropped lazily.
struct Timers {
  typealias Work = @Sendable (_ due: Bool) -> Void

  private var heap: [(deadline: Double, id: CurlRequestID)] = []
  private var work: [CurlRequestID: Work] = [:]

  /// The earliest deadline, as `SystemClock.uptime` counts.
  var next: Double? { heap.first?.deadline }

  mutating func add(_ id: CurlRequestID, at deadline: Double, _ work: @escaping Work) {
    self.work[id] = work
    heap.append((deadline, id))
    rise(heap.count - 1)
  }

  /// Forgets an entry and gives back its work.
  mutating func remove(_ id: CurlRequestID) -> Work? {
    defer {
      if heap.count > 2 * work.count + 64 { compact() }
    }
    return work.removeValue(forKey: id)
  }

  /// The work of the earliest entry that is due.
  mutating func takeDue(_ now: Double) -> Work? {
    while let first = heap.first, first.deadline <= now {
      let last = heap.removeLast()
      if !heap.isEmpty {
        heap[0] = last
        sink(0)
      }
      if let due = work.removeValue(forKey: first.id) { return due }
    }
    return nil
  }

  mutating func removeAll() -> [Work] {
    defer { self = Timers() }
    return Array(work.values)
  }

  private mutating func compact() {
    // A sorted array is a heap.
    heap = heap.filter { work[$0.id] != nil }.sorted { $0.deadline < $1.deadline }
  }

  private mutating func rise(_ start: Int) {
    var child = start
    while child > 0, heap[child].deadline < heap[(child - 1) / 2].deadline {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  private mutating func sink(_ start: Int) {
    var parent = start
    while let child = (2 * parent + 1...2 * parent + 2).filter(heap.indices.contains)
      .min(by: { heap[$0].deadline < heap[$1].deadline }), heap[child].deadline < heap[parent].deadline
    {
      heap.swapAt(child, parent)
      parent = child
    }
  }
}
