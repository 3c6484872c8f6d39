import JobModel

/// Gathers small pieces into blocks for a sink.
final class BlockSink {
  private var block: [UInt8] = []
  private let sink: ByteSink

  init(_ sink: @escaping ByteSink) { self.sink = sink }

  func add(_ text: String) throws { try change { $0 += text.utf8 } }

  /// The value, on a line of its own.
  func addLine(_ value: JSON) throws {
    try change {
      value.write(to: &$0)
      $0.append(UInt8(ascii: "\n"))
    }
  }

  func flush() throws {
    guard !block.isEmpty else { return }
    try sink(block)
    block.removeAll(keepingCapacity: true)
  }

  private func change(_ body: (inout [UInt8]) -> Void) throws {
    body(&block)
    if block.count >= 1 << 16 { try flush() }
  }
}
