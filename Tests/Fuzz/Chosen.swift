internal import FuzzTargets
internal import Glibc

enum Chosen {
  /// The target that HAUL_FUZZ names: the arguments are libFuzzer's.
  static let target: FuzzTarget = {
    let name = getenv("HAUL_FUZZ").map { String(cString: $0) } ?? ""
    guard let target = FuzzTarget(rawValue: name) else {
      fatalError("HAUL_FUZZ names no target: `\(name)`; there are \(FuzzTarget.allCases.map(\.rawValue))")
    }
    return target
  }()

  static func run(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do {
      try target.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
    } catch {
      fatalError("\(error)".debugDescription)
    }
    return 0
  }
}
