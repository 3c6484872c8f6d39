import Glibc

/// A glob over ids: `*` and `?` match any character, `/` included; a plain id also means what lies below it.
package struct Glob: Sendable, Hashable {
  package let pattern: String
  package init(_ pattern: String) { self.pattern = pattern }

  package func matches(_ id: String) -> Bool {
    id == pattern || fnmatch(pattern, id, 0) == 0 || id.hasPrefix(pattern + "/")
  }
}
