/// What a folder holds beside files and folders. A fan-out leaves it out and warns of it.
package enum NonFile: String, Sendable, Hashable {
  case link
  /// A pipe, a socket or a device.
  case special
}
