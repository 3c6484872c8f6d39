import CSQLite

/// A statement's parameters, bound in order without a boxed value each.
package struct Binding {
  private let pointer: OpaquePointer
  private var index: Int32 = 0
  /// The first error; SQLITE_OK where there was none.
  private(set) var result = SQLITE_OK

  init(_ pointer: OpaquePointer) { self.pointer = pointer }

  package mutating func add(_ value: Int64?) {
    note { pointer, index in
      value.map { sqlite3_bind_int64(pointer, index, $0) } ?? sqlite3_bind_null(pointer, index)
    }
  }

  package mutating func add(_ value: Int?) { add(value.map { Int64($0) }) }

  package mutating func add(_ value: Bool) { add(value ? 1 : 0 as Int64) }

  package mutating func add(_ value: Double?) {
    note { pointer, index in
      value.map { sqlite3_bind_double(pointer, index, $0) } ?? sqlite3_bind_null(pointer, index)
    }
  }

  package mutating func add(_ value: String?) {
    note { pointer, index in
      guard var value else { return sqlite3_bind_null(pointer, index) }
      return value.withUTF8 { bind(text: UnsafeRawBufferPointer($0), pointer, index, copied: true) }
    }
  }

  package mutating func add(_ value: DatabaseValue) {
    switch value {
    case .null: add(nil as Int64?)
    case .integer(let value): add(value)
    case .real(let value): add(value)
    case .text(let value): add(value)
    case .blob(let bytes):
      note { pointer, index in
        bytes.withUnsafeBytes { bind(blob: $0, pointer, index, copied: true) }
      }
    }
  }

  private mutating func note(_ bind: (OpaquePointer, Int32) -> Int32) {
    index += 1
    let code = bind(pointer, index)
    if result == SQLITE_OK { result = code }
  }
}

/// SQLite's SQLITE_TRANSIENT: it keeps a copy. The other value, nil, is SQLITE_STATIC.
private func destructor(copied: Bool) -> sqlite3_destructor_type? {
  copied ? unsafeBitCast(-1, to: sqlite3_destructor_type.self) : nil
}

func bind(text: UnsafeRawBufferPointer, _ pointer: OpaquePointer, _ index: Int32, copied: Bool) -> Int32 {
  // A null pointer would be no text at all.
  guard let start = text.baseAddress else {
    return sqlite3_bind_text(pointer, index, "", 0, destructor(copied: true))
  }
  return sqlite3_bind_text64(
    pointer, index, start.assumingMemoryBound(to: CChar.self), UInt64(text.count), destructor(copied: copied),
    UInt8(SQLITE_UTF8))
}

func bind(blob: UnsafeRawBufferPointer, _ pointer: OpaquePointer, _ index: Int32, copied: Bool) -> Int32 {
  guard let start = blob.baseAddress, !blob.isEmpty else { return sqlite3_bind_zeroblob(pointer, index, 0) }
  return sqlite3_bind_blob64(pointer, index, start, UInt64(blob.count), destructor(copied: copied))
}
