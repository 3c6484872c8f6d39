import Endpoints

/// What listings say of one object.
enum ListedObject: Sendable, Hashable {
  case entry(ListedPage.Entry)
  /// A listing goes past its name.
  case absent
  /// It is to be asked for by itself.
  case untold
}
