/// Fan-outs, by id, whose entries a compile does not look for: those of the plan stay in it.
package struct UnlistedFanOuts {
  /// Their store could not be asked: the entries stay as they are.
  var unheard: [String]
  /// The manifest says `enabled: false`: the entries are left out, with all that is on record of them.
  var disabled: [String]

  package init(unheard: [String] = [], disabled: [String] = []) {
    self.unheard = unheard
    self.disabled = disabled
  }

  var isEmpty: Bool { unheard.isEmpty && disabled.isEmpty }

  /// Whether an entry of the fan-out has this id.
  static func holds(_ fanOut: String, _ id: String) -> Bool { id.utf8.starts(with: (fanOut + "/").utf8) }
}
