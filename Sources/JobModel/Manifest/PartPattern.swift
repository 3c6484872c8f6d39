/// The pattern of haul's own part files, `.NAME.TAG.haul-part`: no destination may have such a name.
package enum PartPattern {
  private static let ending = Array(".haul-part".utf8)

  /// Whether a path's last part is such a name; letters in either case, as some file systems do not tell them apart.
  package static func matches(_ path: String) -> Bool {
    // Nearly every path ends otherwise.
    guard let last = path.utf8.last, last | 0x20 == 0x74 else { return false }
    let name = Array(RelativePath.baseName(path).utf8).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    guard name.first == 0x2E, name.count > ending.count, name.suffix(ending.count).elementsEqual(ending)
    else {
      return false
    }
    let stem = name.dropFirst().dropLast(ending.count)
    let tag = stem.split(separator: 0x2E, omittingEmptySubsequences: false).last ?? []
    return !tag.isEmpty && tag.allSatisfy { $0.isLowerHexDigit }
  }

  package static func refusal(_ name: String) -> String {
    "`\(name)` is a name of haul's own: it keeps unfinished downloads under `.NAME.TAG.haul-part`"
  }
}
