internal import JobModel
internal import ManifestFields
internal import YAML

/// `imports`: brings the names of other files into the manifest's tree, before any other rule reads it.
struct ImportRule {
  /// How many imports may lie between a manifest and a file.
  private static let depth = 8
  private static let count = 100
  private static let named = ["vars", "endpoints", "policies"]

  private let scope: Scope
  private let source: ImportSource
  /// The manifest's path as it was given; imported files are shown beside it.
  private let path: String
  private let allowsOutside: Bool
  /// The names that each file has, its own imports included, by its resolved path.
  private var trees: [String: [YAMLEntry]] = [:]
  private(set) var files: [ImportedFile] = []

  init(_ root: YAMLNode, path: String, source: ImportSource, scope: Scope) {
    self.path = path
    self.source = source
    self.scope = scope
    allowsOutside = [root, root["defaults"]].contains { $0?["allow_outside"]?.scalar?.text == "true" }
  }

  /// The manifest with all that it imports.
  mutating func merged(_ root: YAMLNode) -> YAMLNode {
    guard let own = root.mapping, root["imports"] != nil else { return root }
    let opened = source.manifest.map { [$0] } ?? []
    return root.with(merged(own, in: scope.directory, through: opened))
  }

  /// A file's entries over those of its imports: what it imports last wins over what it imports first.
  private mutating func merged(
    _ own: [YAMLEntry], in folder: String, through open: [String]
  ) -> [YAMLEntry] {
    var below: [YAMLEntry] = []
    for item in items(own) {
      if let tree = tree(item, in: folder, through: open) { below = Self.overlay(tree, over: below) }
    }
    return Self.overlay(own, over: below)
  }

  private func items(_ own: [YAMLEntry]) -> [YAMLNode] {
    guard let imports = own.first(where: { $0.key == "imports" })?.value else { return [] }
    guard let items = imports.sequence else {
      scope.faults.error(
        Fields.wrongType(imports, wanted: "a list of files", key: "imports"), at: imports.mark,
        hint: "imports: [common.yaml]")
      return []
    }
    return items
  }

  /// The names of an imported file; nil where it can't be had, which is reported.
  private mutating func tree(
    _ item: YAMLNode, in folder: String, through open: [String]
  ) -> [YAMLEntry]? {
    guard let text = item.scalar?.text, !text.isEmpty else {
      scope.faults.error(Fields.wrongType(item, wanted: "a file's path", key: "imports"), at: item.mark)
      return nil
    }
    func fault(_ message: String, hint: String?) {
      scope.lacksNames = true
      scope.faults.error(message, at: item.mark, hint: hint)
    }
    guard !text.contains("${") else {
      fault("`\(text)` is read before any variable is known", hint: "write the path out")
      return nil
    }
    if let shell = RelativePath.shellFault(text) {
      fault(shell.message, hint: shell.hint)
      return nil
    }
    let absolute = RelativePath.normalize(RelativePath.isAbsolute(text) ? text : folder + "/" + text)
    guard allowsOutside || lies(absolute) else {
      fault("the import `\(text)` lies outside of the manifest's folder", hint: Self.outsideHint)
      return nil
    }
    guard let real = found(source.resolve(absolute), text, at: item.mark) else { return nil }
    guard allowsOutside || lies(real) else {
      fault(
        "the import `\(text)` is a link that leads outside of the manifest's folder", hint: Self.outsideHint)
      return nil
    }
    guard !open.contains(real) else {
      fault("`\(text)` is imported by itself, directly or by what it imports", hint: "leave one import out")
      return nil
    }
    // What is imported twice is read once.
    if let known = trees[real] { return known }
    // The manifest itself may be among them.
    guard open.count(where: { $0 != source.manifest }) < Self.depth else {
      fault("imports of imports go deeper than \(Self.depth) files here", hint: "import the file further up")
      return nil
    }
    guard files.count < Self.count else {
      fault("more than \(Self.count) files are imported", hint: "put some of them together")
      return nil
    }
    guard let bytes = found(source.read(real), text, at: item.mark) else { return nil }
    files.append(ImportedFile(path: real, bytes: bytes))
    let entries = merged(
      read(bytes, shownAs: shown(absolute), real), in: PathParts(real).parent, through: open + [real])
    trees[real] = entries
    return entries
  }

  private func found<Value>(
    _ result: Result<Value, ImportSource.Fault>, _ text: String, at mark: YAMLMark
  ) -> Value? {
    switch result {
    case .success(let value): return value
    case .failure(.missing): scope.faults.unreadable("the imported file `\(text)` does not exist", at: mark)
    case .failure(.unreadable(let reason)):
      scope.faults.unreadable("the imported file `\(text)` can't be read: \(reason)", at: mark)
    }
    scope.lacksNames = true
    return nil
  }

  /// The entries of an imported file; what it may not say is reported.
  private func read(_ bytes: [UInt8], shownAs name: String, _ real: String) -> [YAMLEntry] {
    let file = scope.faults.add(file: name, text: String(decoding: bytes, as: UTF8.self))
    scope.folders[file] = PathParts(real).parent
    let document = YAMLParser.parse(bytes, file: file)
    for fault in document.faults { scope.faults.error(fault.message, at: fault.mark, hint: fault.hint) }
    guard let root = document.root else {
      // An empty one has no names, one that is no YAML may have any.
      if !document.faults.isEmpty { scope.lacksNames = true }
      return []
    }
    // Its unknown keys are reported; its values are when they are read as the manifest's.
    guard Fields(root, shape: .imported, path: name, scope: scope) != nil else { return [] }
    return (root.mapping ?? []).filter { entry in
      guard Self.named.contains(entry.key) || entry.key == "defaults", entry.value.mapping == nil else {
        return KeyShape.imported.keys.contains(entry.key)
      }
      scope.faults.error(
        Fields.wrongType(entry.value, wanted: "a mapping", key: entry.key), at: entry.value.mark)
      return false
    }
  }

  /// Name by name under `vars`, `endpoints` and `policies`, key by key under `defaults`: each is taken whole.
  private static func overlay(_ upper: [YAMLEntry], over lower: [YAMLEntry]) -> [YAMLEntry] {
    var result = upper
    for entry in lower where named.contains(entry.key) || entry.key == "defaults" {
      guard let index = result.firstIndex(where: { $0.key == entry.key }) else {
        result.append(entry)
        continue
      }
      guard let own = result[index].value.mapping else { continue }
      let names = Set(own.map(\.key))
      let more = (entry.value.mapping ?? []).filter { !names.contains($0.key) }
      result[index].value = result[index].value.with(own + more)
    }
    return result
  }

  private static let outsideHint =
    "move it below, or write `allow_outside: true` at the top level if this is meant"

  private func lies(_ path: String) -> Bool {
    !RelativePath.escapes(RelativePath.relative(path, to: scope.directory))
  }

  /// As messages name it: beside the manifest as that was given.
  private func shown(_ absolute: String) -> String {
    let relative = RelativePath.relative(absolute, to: scope.directory)
    guard path != "-", lies(absolute) else { return absolute }
    let folder = PathParts(path).parent
    return folder.isEmpty ? relative : folder == "/" ? "/" + relative : "\(folder)/\(relative)"
  }
}
