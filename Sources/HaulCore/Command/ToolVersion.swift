/// The version that `haul --version`, reports and requests name.
package enum ToolVersion {
  package static let current = "0.1.0"
}
