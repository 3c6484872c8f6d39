package import Endpoints
package import JobModel

/// Resolves secret references; the engine itself never reads the environment.
package struct SecretSource: Sendable {
  /// - Throws: `Failure` with `SECRET_UNAVAILABLE`.
  package var resolve: @Sendable (SecretReference) async throws -> Secret
  /// Keys of a profile, the environment or a command.
  ///
  /// - Throws: `Failure` with `SECRET_UNAVAILABLE`.
  package var keys: @Sendable (AWSCredentials) async throws -> AWSKeys

  /// The login that the user's `.netrc` has for a host.
  ///
  /// - Throws: `Failure` with `SECRET_UNAVAILABLE`.
  package var netrc: @Sendable (_ host: String) async throws -> NetrcLogin

  package init(
    resolve: @escaping @Sendable (SecretReference) async throws -> Secret,
    keys: @escaping @Sendable (AWSCredentials) async throws -> AWSKeys = { _ in
      throw Failure(.secretUnavailable, "there are no AWS credentials here")
    },
    netrc: @escaping @Sendable (_ host: String) async throws -> NetrcLogin = { host in
      throw Failure(.secretUnavailable, "there is no `.netrc` to look up `\(host)` in")
    }
  ) {
    // Files are read for them, and the engine's tasks prefer the network thread.
    self.resolve = { reference in
      try await withTaskExecutorPreference(globalConcurrentExecutor) { try await resolve(reference) }
    }
    self.keys = { credentials in
      try await withTaskExecutorPreference(globalConcurrentExecutor) { try await keys(credentials) }
    }
    self.netrc = { host in
      try await withTaskExecutorPreference(globalConcurrentExecutor) { try await netrc(host) }
    }
  }
}

extension SecretSource {
  /// The same, with whatever it gives masked from then on.
  package func teaching(_ mask: SecretMask) -> SecretSource {
    var source = self
    let (resolve, keys, netrc) = (resolve, keys, netrc)
    source.resolve = { reference in
      let secret = try await resolve(reference)
      mask.learn(secret)
      return secret
    }
    source.keys = { credentials in
      let found = try await keys(credentials)
      mask.learn(found)
      return found
    }
    source.netrc = { host in
      let login = try await netrc(host)
      mask.learn(user: login.user, password: login.password)
      return login
    }
    return source
  }
}

extension SecretMask {
  func learn(_ keys: AWSKeys) {
    learn(keys.secretAccessKey)
    if let token = keys.sessionToken { learn(token) }
  }
}
