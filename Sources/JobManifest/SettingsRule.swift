internal import Endpoints
internal import JobModel
internal import ManifestFields
internal import YAML

/// Merges the levels into settings: transfer, then endpoint, then defaults, then built in.
struct SettingsRule {
  let endpoints: EndpointTable
  let defaults: TransferLevel
  let own: TransferLevel
  /// `own` over `defaults`.
  let level: TransferLevel

  /// For each endpoint that the remote side may be on; "" is an absolute URL's.
  func byEndpoint(_ direction: Verb, remote: PlaceTemplate) -> [String: TransferSettings] {
    switch remote.kind {
    case .remote(let name): [name: merged(direction, endpoints.named[name])]
    case .url, .local: ["": merged(direction, nil)]
    case .undecided:
      endpoints.named.mapValues { merged(direction, $0) }
        .merging(["": merged(direction, nil)]) { first, _ in first }
    }
  }

  func endpointsAreWhole(_ remote: PlaceTemplate) -> Bool {
    if case .remote(let name) = remote.kind { endpoints.named[name] != nil } else { true }
  }

  func rowSettings(_ direction: Verb) -> [RowSetting] {
    ScalarSetting.allCases.compactMap { setting in
      guard let value = level.settings[setting], value.text.literal == nil,
        setting.verbs.contains(direction)
      else { return nil }
      return RowSetting(setting: setting, value: value)
    }
  }

  /// All of the transfer's and the defaults' headers, where a row has a say in any.
  var rowHeaders: [HeaderTemplate] {
    (defaults.headers + own.headers).filter { $0.setting == nil }
  }

  private func merged(_ direction: Verb, _ endpoint: Endpoint?) -> TransferSettings {
    var settings = TransferSettings(direction: direction)
    for (setting, value) in level.settings {
      guard let literal = value.text.literal, setting.verbs.contains(direction) else { continue }
      do {
        try setting.apply(literal, to: &settings)
      } catch {
        // Read and reported with its level; this transfer is not planned.
        continue
      }
      if setting == .contentType || setting == .storageClass {
        settings.given.written[setting.rawValue] = value.written
      }
    }
    if let preserve = level.preserve { settings.preserve = preserve.rule }
    if direction.writesRemote {
      for item in level.attributeItems {
        // A value that can't be sent is reported with its level.
        if let literal = item.value.text.literal { try? item.apply(literal, to: &settings.given) }
      }
    }
    let layers: [(name: String?, policy: Policy?)] = [
      (defaults.policy?.name, defaults.policy?.policy), (endpoint?.policyName, endpoint?.policy),
      (own.policy?.name, own.policy?.policy),
    ]
    for layer in layers {
      guard let policy = layer.policy else { continue }
      settings.policy.overlay(policy)
      if let name = layer.name {
        (settings.policyName, settings.hasOwnBudget) = (name, false)
      } else if settings.policyName != nil, policy.budget != nil || policy.timezone != nil {
        settings.hasOwnBudget = true
      }
    }
    // What a transfer's named policy leaves out is its endpoint's, and another one at another endpoint.
    if let reference = own.policy, reference.name != nil, settings.policy.budget != nil,
      let below = endpoint?.policy
    {
      settings.hasOwnBudget =
        reference.policy.budget == nil && below.budget != nil
        || reference.policy.timezone == nil && below.timezone != nil
    }
    settings.headers = HeaderSetting.overlay(
      own.headers.compactMap(\.setting),
      over: HeaderSetting.overlay(endpoint?.headers ?? [], over: defaults.headers.compactMap(\.setting)))
    settings.needs = (level.needs ?? []).compactMap(\.text.literal)
    return settings
  }

  /// What the destination's protocol can't do is refused: `verify: required` where nothing could be compared,
  /// `verify: readback` and `if_exists` where nothing can be asked for.
  func checkAbilities(_ direction: Verb, _ destination: PlaceTemplate, scope: Scope) {
    checkVerify(direction, destination, scope: scope)
    // Inherited, it is meant for the uploads beside it.
    if direction == .download, let verify = own.settings[.verify],
      verify.text.literal == VerifyLevel.readback.rawValue
    {
      scope.faults.error(
        "`verify: readback` reads an upload back: this is a download", at: verify.mark,
        hint: "leave it out, or write `verify: required`, which demands a digest")
    }
    guard direction.writesRemote, case .remote(let name) = destination.kind,
      let driver = endpoints.named[name]?.driver, !driver.abilities.readsBack
    else { return }
    if let verify = level.settings[.verify], verify.text.literal == VerifyLevel.readback.rawValue {
      scope.faults.error(
        "`verify: readback` can't be met: a `\(driver.word)` upload can't be read back", at: verify.mark,
        hint: "write `verify: required`, which fails where the store's ETags prove nothing")
    }
    if let exists = level.settings[.ifExists], let rule = exists.text.literal,
      rule != ExistsRule.replace.rawValue
    {
      scope.faults.error(
        "`if_exists: \(rule)` can't be met: a `\(driver.word)` back end can't be asked what is there",
        at: exists.mark, hint: "leave it out: each upload gets a key of its own, and replaces nothing")
    }
  }

  private func checkVerify(_ direction: Verb, _ destination: PlaceTemplate, scope: Scope) {
    guard let verify = level.settings[.verify], verify.text.literal == VerifyLevel.required.rawValue,
      direction.writesRemote
    else { return }
    let proves: Bool =
      switch destination.kind {
      case .remote(let name): endpoints.named[name]?.driver.abilities.provesUploads ?? true
      case .url: EndpointRegistry.web.abilities.provesUploads
      case .local, .undecided: true
      }
    if !proves {
      scope.faults.error(
        "`verify: required` can't be met: no digest comes back from an upload there", at: verify.mark,
        hint: "write `verify: readback`, which reads the upload back and compares")
    }
  }
}
