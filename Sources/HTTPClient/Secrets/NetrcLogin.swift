package import JobModel

/// A user and a password of a `.netrc` file.
package struct NetrcLogin: Sendable {
  package var user: String
  package var password: Secret
  package init(user: String, password: Secret) {
    self.user = user
    self.password = password
  }
}
