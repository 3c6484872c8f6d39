internal import Endpoints
internal import JobModel

/// Places out of texts that an entry has been put into.
enum Places {
  static func of(_ text: CompiledText) -> EntryFault.Place {
    text.firstCell.map { .cell($0) } ?? .manifest(text.place)
  }

  static func decide(
    _ kind: PlaceTemplate.Kind, _ text: String, _ context: PlanContext, at place: EntryFault.Place
  ) throws(EntryFault) -> Place {
    var kind = kind
    var rest = text
    if kind == .undecided {
      kind = PlaceTemplate.kind(of: text, isWhole: true)
      if case .remote(let name) = kind {
        guard !text.dropFirst(name.utf8.count + 1).hasPrefix("//") else {
          throw EntryFault(
            message: "`\(name)://` is not a scheme that haul supports",
            hint: "a URL begins with https:// or http://",
            place: place)
        }
        guard context.job.endpoints[name] != nil else {
          throw EntryFault.undeclared(name, at: place)
        }
        rest = String(text.dropFirst(name.utf8.count + 1))
      }
    }
    // The path would end there, the kernel's and the ledger's, and be another one's.
    guard kind == .url || !rest.utf8.contains(0) else {
      throw EntryFault(
        message: "the path holds a NUL byte", hint: "no file's name can", place: place, obstacle: .nul)
    }
    switch kind {
    case .local, .undecided: return .local(rest)
    case .remote(let name): return .remote(endpoint: name, path: rest)
    case .url:
      do throws(ValueFault) {
        return .url(try URLRule.absolute(rest))
      } catch {
        throw EntryFault(message: Masked.text(error.message), hint: error.hint, place: place)
      }
    }
  }

  /// What `${source.path}` is for a row.
  static func sourcePath(_ place: Place) -> String {
    switch place {
    case .local(let path): return RelativePath.tidy(path)
    case .remote(_, let path): return path
    case .url(let url):
      let bare = url.utf8.prefix { $0 != 0x3F && $0 != 0x23 }
      let path = bare.dropFirst(URLRule.schemeLength(url) ?? 0).drop { $0 != 0x2F }.dropFirst()
      return String(Substring(path))
    }
  }

  /// A URL's query may be a signature, which is no part of what a transfer is known by.
  static func withoutQuery(_ place: Place) -> String {
    switch place {
    case .local, .remote: place.text
    case .url(let url): String(Substring(url.utf8.prefix { $0 != 0x3F }))
    }
  }
}
