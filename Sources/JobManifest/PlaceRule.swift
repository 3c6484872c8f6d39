internal import Endpoints
internal import JobModel
internal import ManifestFields
internal import YAML

/// Sources and destinations: which kind each is, and what goes together.
struct PlaceRule {
  let scope: Scope
  let endpoints: EndpointTable

  /// One of an endpoint that is not declared is given as well, so that what else is wrong is told in the same pass.
  func read(_ key: String, in fields: Fields, allowed: Scope.Allowed) -> PlaceTemplate? {
    guard let text = fields.marked(key, allowed: allowed) else { return nil }
    guard !text.text.parts.isEmpty else {
      fields.error("`\(key)` is empty", at: key)
      return nil
    }
    let prefix = text.text.literalPrefix
    let kind = PlaceTemplate.kind(of: prefix, isWhole: text.text.literal != nil)
    switch kind {
    case .local, .undecided:
      // Where no local path may stand, `check` says so.
      if ["upload", "to"].contains(key), let fault = RelativePath.shellFault(prefix) {
        scope.faults.error(fault, at: text.mark)
        return nil
      }
      return PlaceTemplate(kind: kind, text: text)
    case .url:
      if let url = text.text.literal { checkURL(url, at: text.mark) }
      return PlaceTemplate(kind: kind, text: text)
    case .remote(let name):
      if !endpoints.isDeclared(name) { undeclared(name, text: prefix, at: text.mark) }
      var rest = text
      rest.text = text.text.dropping(prefix: "\(name):")
      return PlaceTemplate(kind: kind, text: rest)
    }
  }

  func undeclared(_ name: String, text: String, at mark: SourceMark) {
    guard !scope.lacksNames else { return }
    let near = NearMiss.of(name, among: (Array(endpoints.named.keys) + endpoints.broken).sorted())
    if text.hasPrefix("\(name)://") {
      scope.faults.error(
        "`\(name)` URLs are not spoken", at: mark, hint: "http and https are; or declare an endpoint")
    } else {
      scope.faults.error(
        "the endpoint `\(name)` is not declared", at: mark,
        hint: near.map { "did you mean `\($0):`?" }
          ?? "declare it under `endpoints`; a file of that name is `./\(text)`")
    }
  }

  private func checkURL(_ url: String, at mark: SourceMark) {
    do {
      _ = try URLRule.absolute(url)
    } catch {
      scope.faults.error(error, at: mark)
    }
  }

  /// One side is local, the other is not; and the protocol can do it.
  func check(_ direction: Verb, _ source: PlaceTemplate, _ destination: PlaceTemplate, _ fields: Fields) {
    let sourceIsLocal = isLocal(source)
    let destinationIsLocal = isLocal(destination)
    switch direction {
    case .download:
      if sourceIsLocal == true {
        scope.faults.error(
          destinationIsLocal == true
            ? "both sides are local" : "a download comes from a remote, and this is a local path",
          at: source.text.mark, hint: "write NAME:PATH of a declared endpoint, or a URL")
      } else if destinationIsLocal == false {
        scope.faults.error(
          sourceIsLocal == false
            ? "both sides are remote" : "a download goes to a local path, and this is remote",
          at: destination.text.mark, hint: "write a local path, or `copy:` in place of `download:`"
        )
      }
    case .upload:
      if sourceIsLocal == false {
        scope.faults.error(
          destinationIsLocal == false
            ? "both sides are remote" : "an upload comes from a local path, and this is remote",
          at: source.text.mark, hint: "write a local path, or `copy:` in place of `upload:`")
      } else if destinationIsLocal == true {
        scope.faults.error(
          sourceIsLocal == true
            ? "both sides are local" : "an upload goes to a remote, and this is a local path",
          at: destination.text.mark, hint: "write NAME:PATH of a declared endpoint, or a URL")
      } else {
        checkRemote(destination, .upload)
      }
    case .copy:
      if sourceIsLocal == true {
        scope.faults.error(
          "a copy comes from a remote, and this is a local path", at: source.text.mark,
          hint: "write `upload: PATH`")
      } else if destinationIsLocal == true {
        scope.faults.error(
          "a copy goes to a remote, and this is a local path", at: destination.text.mark,
          hint: "write `download:` in place of `copy:`")
      } else {
        checkRemote(destination, .upload)
      }
    }
    if direction.readsRemote { checkRemote(source, .download) }
  }

  private func checkRemote(_ place: PlaceTemplate, _ direction: Direction) {
    guard case .remote(let name) = place.kind, let driver = endpoints.named[name]?.driver,
      let fault = driver.objection(to: place.text.text.literal, direction)
    else { return }
    scope.faults.error(fault, at: place.text.mark)
  }

  /// No download takes a name of haul's own part files.
  func refusePartName(_ destination: PlaceTemplate) {
    guard case .local = destination.kind, PartPattern.matches(destination.text.text.written) else { return }
    scope.faults.error(
      PartPattern.refusal(RelativePath.baseName(destination.text.text.written)),
      at: destination.text.mark, hint: "give the file another name")
  }

  /// What is written of a destination may not leave the manifest's folder.
  func confine(_ destination: PlaceTemplate) {
    guard case .local = destination.kind else { return }
    let text = destination.text.text
    let fixed = text.literal ?? RelativePath.folder(text.literalPrefix)
    guard RelativePath.escapes(RelativePath.relative(fixed, to: scope.directory)) else { return }
    scope.faults.error(
      "the destination `\(text.written)` lies outside of the manifest's folder",
      at: destination.text.mark,
      hint: "write a path below it, or `allow_outside: true` if this is meant")
  }

  /// Nil where entries decide, and where an endpoint's name may have been meant as a file's.
  private func isLocal(_ place: PlaceTemplate) -> Bool? {
    switch place.kind {
    case .local: true
    case .remote(let name): endpoints.isDeclared(name) ? false : nil
    case .url: false
    case .undecided: nil
    }
  }
}
