/// Why depot can't start, in words for its user, with the exit code (sysexits.h) that says so.
package struct DepotError: Error, CustomStringConvertible {
  package var exitCode: Int32
  package var description: String

  package static func usage(_ text: String) -> DepotError { DepotError(exitCode: 64, description: text) }
  package static func noInput(_ text: String) -> DepotError { DepotError(exitCode: 66, description: text) }
  package static func unavailable(_ text: String) -> DepotError {
    DepotError(exitCode: 69, description: text)
  }
}
