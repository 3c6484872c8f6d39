/// One segment of a glob pattern: what a single name must be like.
enum GlobSegment: Sendable, Hashable {
  case anyDepth
  case literal([Unicode.Scalar])
  case pattern([Element])

  enum Element: Sendable, Hashable {
    case one(Unicode.Scalar)
    case anyOne
    case anyRun
    case set(ranges: [ClosedRange<UInt32>], isNegated: Bool)
  }

  init(_ text: Substring) throws(ValueFault) {
    if text == "**" {
      self = .anyDepth
      return
    }
    var elements: [Element] = []
    var scalars = Array(text.unicodeScalars)[...]
    while let scalar = scalars.popFirst() {
      switch scalar {
      case "*": if elements.last != .anyRun { elements.append(.anyRun) }
      case "?": elements.append(.anyOne)
      case "[": elements.append(try Self.set(&scalars, in: text))
      case "\\":
        if let next = scalars.first, "*?[]{}\\".unicodeScalars.contains(next) {
          elements.append(.one(next))
          scalars = scalars.dropFirst()
        } else {
          elements.append(.one(scalar))
        }
      default: elements.append(.one(scalar))
      }
    }
    let literal = elements.compactMap { element in
      if case .one(let scalar) = element { scalar } else { nil }
    }
    self = literal.count == elements.count ? .literal(literal) : .pattern(elements)
  }

  func matches(_ name: [Unicode.Scalar]) -> Bool {
    switch self {
    case .anyDepth: true
    case .literal(let text): text == name
    case .pattern(let elements): Self.match(elements, name)
    }
  }

  /// One `*` is remembered at a time: a later one makes an earlier choice irrelevant.
  private static func match(_ elements: [Element], _ name: [Unicode.Scalar]) -> Bool {
    var element = 0
    var position = 0
    var retry: (element: Int, position: Int)?
    while position < name.count {
      if element < elements.count {
        if elements[element] == .anyRun {
          retry = (element + 1, position)
          element += 1
          continue
        }
        if accepts(elements[element], name[position]) {
          element += 1
          position += 1
          continue
        }
      }
      guard let last = retry else { return false }
      retry = (last.element, last.position + 1)
      element = last.element
      position = last.position + 1
    }
    return elements[element...].allSatisfy { $0 == .anyRun }
  }

  private static func accepts(_ element: Element, _ scalar: Unicode.Scalar) -> Bool {
    switch element {
    case .one(let expected): expected == scalar
    case .anyOne, .anyRun: true
    case .set(let ranges, let isNegated): ranges.contains { $0.contains(scalar.value) } != isNegated
    }
  }

  private static func set(
    _ rest: inout ArraySlice<Unicode.Scalar>, in text: Substring
  ) throws(ValueFault) -> Element {
    var ranges: [ClosedRange<UInt32>] = []
    var isNegated = false
    if rest.first == "!" || rest.first == "^" {
      isNegated = true
      rest.removeFirst()
    }
    var isFirst = true
    while let scalar = rest.popFirst() {
      if scalar == "]", !isFirst { return .set(ranges: ranges, isNegated: isNegated) }
      isFirst = false
      let low = scalar == "\\" ? rest.popFirst() ?? scalar : scalar
      if rest.first == "-", let high = rest.dropFirst().first, high != "]" {
        guard low.value <= high.value else {
          throw ValueFault(
            "the range `\(low)-\(high)` in the pattern `\(text)` is empty", hint: "turn it around")
        }
        ranges.append(low.value...high.value)
        rest = rest.dropFirst(2)
      } else {
        ranges.append(low.value...low.value)
      }
    }
    throw ValueFault(
      "`[` in the pattern `\(text)` is not closed", hint: "add `]`, or write `\\[` for the character")
  }
}
