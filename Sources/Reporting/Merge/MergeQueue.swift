/// The reports' next transfers, the first of the plan in front: a binary heap.
struct MergeQueue<Element> {
  private var heap: [(place: MergedCauses.Place, element: Element)] = []

  mutating func insert(_ element: Element, at place: MergedCauses.Place) {
    heap.append((place, element))
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard heap[child].place < heap[parent].place else { return }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  mutating func popFirst() -> Element? {
    guard let first = heap.first else { return nil }
    let last = heap.removeLast()
    guard !heap.isEmpty else { return first.element }
    heap[0] = last
    var parent = 0
    while true {
      var child = parent * 2 + 1
      guard child < heap.count else { return first.element }
      if child + 1 < heap.count, heap[child + 1].place < heap[child].place { child += 1 }
      guard heap[child].place < heap[parent].place else { return first.element }
      heap.swapAt(child, parent)
      parent = child
    }
  }
}
