/// The limits of the whole job, beside those that one of its parts keeps.
package indirect enum Undivided<Limits: Sendable & Hashable>: Sendable, Hashable {
  /// They are the whole job's already.
  case asTheyAre
  case of(Limits)

  package var limits: Limits? { if case .of(let limits) = self { limits } else { nil } }
}
