/// A text that is equal to another one only where its bytes are: a path, a key, an id.
///
/// Swift's strings are equal where they are canonically equivalent (`é` in one or two code points, K and the Kelvin
/// sign); to a file system, a store and SQLite these are two names.
package struct ByteText: Sendable, Hashable, Comparable {
  package let text: String

  package init(_ text: String) { self.text = text }

  package static func == (one: ByteText, other: ByteText) -> Bool {
    one.text.utf8.elementsEqual(other.text.utf8)
  }

  package static func < (one: ByteText, other: ByteText) -> Bool {
    one.text.utf8.lexicographicallyPrecedes(other.text.utf8)
  }

  package func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    hasher.combine(0xFF as UInt8)
  }
}
