/// What a local file tells of itself, and what it has a place for.
package enum LocalAttributes {
  package static let tells: Set<Attribute> = [.contentType, .mtime, .mode]
  package static let keeps: Set<Attribute> = [.mtime, .mode]
}
