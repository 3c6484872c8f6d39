internal import Endpoints
internal import JobModel
internal import ManifestFields
internal import YAML

/// The top level of a manifest.
enum JobRule {
  /// The job of all transfers that can be planned; nil where not even its name can be read.
  ///
  /// - Parameter hasPlainPolicies: nothing that the manifest or its imports say of policies was lost before.
  static func read(
    _ root: YAMLNode, path: String, overrides: [String: String], hasPlainPolicies: Bool, scope: Scope
  ) -> Job? {
    guard root.mapping != nil else {
      scope.faults.error(
        "a manifest is a mapping", at: root.mark, hint: "it begins with `version: 1` and `job: NAME`")
      return nil
    }
    guard let top = Fields(root, shape: .job, path: "", scope: scope) else { return nil }
    top.require("version", hint: "version: 1")
    top.require("job", hint: "job: NAME")
    top.require("transfers", hint: "transfers: a list of downloads, uploads and copies")
    _ = top.bool("allow_outside")
    VariablesRule.read(top, overrides: overrides)
    top.value("version") { text throws(ValueFault) in
      guard text == "1" else {
        throw ValueFault("version `\(text)` is not known", hint: "this haul reads `version: 1`")
      }
    }
    let name = top.value("job", name)
    let description = top.text("description")
    let errors = scope.faults.errorCount
    let policies = PolicyTable.read(top)
    let defaults = top.fields("defaults", .defaults).map { TransferLevel.read($0, policies: policies) }
    let isPolicyKnown = hasPlainPolicies && scope.faults.errorCount == errors && !misspells(root)
    let endpoints = EndpointRule.readAll(top, policies: policies)
    let rule = TransferRule(
      scope: scope, endpoints: endpoints, policies: policies, defaults: defaults ?? TransferLevel())
    defaults?.then?.check(PlaceRule(scope: scope, endpoints: endpoints))
    let templates = transfers(top, rule)
    let notices = NoticeRule.readAll(top)
    let limits = JobLimitsRule.read(top)
    guard let name else { return nil }
    var job = Job(
      name: name, description: description, version: 1, manifestPath: path, directory: scope.directory,
      endpoints: endpoints.named, policies: policies.named, variables: scope.variables, templates: templates)
    job.secrets = scope.secrets
    job.notices = notices
    job.limits = limits
    if isPolicyKnown {
      var policy = EffectivePolicy()
      if let own = defaults?.policy?.policy { policy.overlay(own) }
      job.noticePolicy = policy
    }
    job.namePlace = top.marked("job", allowed: .settled)
    return job
  }

  /// What is not known may be what says where requests may go.
  private static func misspells(_ root: YAMLNode) -> Bool {
    let names = ["policies", "defaults", "imports"]
    return (root.mapping ?? []).contains { entry in
      !KeyShape.job.keys.contains(entry.key) && !entry.key.hasPrefix("x-")
        && NearMiss.of(entry.key, among: names) != nil
    }
  }

  private static func name(_ text: String) throws(ValueFault) -> String {
    let form = "lower-case letters, digits, `.`, `_` and `-`, 64 at most, the first a letter or a digit"
    let isAllowed = text.utf8.allSatisfy { byte in
      PercentEncoding.isIDByte(byte) && byte != 0x2F && !(0x41...0x5A).contains(byte)
    }
    guard isAllowed, (1...64).contains(text.utf8.count), let first = text.utf8.first,
      PercentEncoding.isAlphanumeric(first)
    else { throw ValueFault("`\(text)` is not a job's name", hint: form) }
    return text
  }

  private static func transfers(_ top: Fields, _ rule: TransferRule) -> [TransferTemplate] {
    guard let items = top.items("transfers") else { return [] }
    if items.isEmpty {
      top.error("the job has no transfers", at: "transfers", hint: "a list of downloads, uploads and copies")
    }
    var templates: [TransferTemplate] = []
    var ids: [(id: String, mark: SourceMark)] = []
    var written: [String: [MarkedText]] = [:]
    var known: [NeedsRule.Known] = []
    var claims: [DestinationClaim] = []
    for (index, item) in items.enumerated() {
      let entry = rule.read(item, index: index)
      let template = entry.template
      if let template { templates.append(template) }
      if let claim = entry.destination { claims.append(claim) }
      guard let id = item["id"], let text = template?.id ?? id.scalar?.text, !text.isEmpty else { continue }
      ids.append((text, rule.scope.faults.sourceMark(id.mark)))
      written[text] = template?.needs ?? entry.needs
      if let template {
        known.append(.init(id: text, isFanOut: template.fanOut != .single, isDisabled: template.isDisabled))
      } else {
        // It may be a fan-out: nothing that names it is held against the others.
        known.append(.init(id: text, isFanOut: true))
      }
    }
    let resolved = NeedsRule(known: known, scope: rule.scope).resolve(templates, written: written)
    return UniqueRule.check(resolved, ids: ids, claims: claims, scope: rule.scope)
  }
}
