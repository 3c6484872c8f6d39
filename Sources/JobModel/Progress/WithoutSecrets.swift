/// What is told or recorded of a transfer, with the secrets masked that a server or a service has echoed.
extension Failure {
  package func without(_ mask: SecretMask) -> Failure {
    var failure = self
    failure.message = mask.masked(message)
    failure.expected = expected.map(mask.masked)
    failure.actual = actual.map(mask.masked)
    return failure
  }
}

extension Diagnostic {
  package func without(_ mask: SecretMask) -> Diagnostic {
    var diagnostic = self
    diagnostic.message = mask.masked(message)
    diagnostic.hint = hint.map(mask.masked)
    return diagnostic
  }
}

extension RemoteObject {
  /// A tag, a version or a name that echoes a secret is as good as none: what is not stored can't be sent back, and no
  /// file is called by it.
  package func without(_ mask: SecretMask) -> RemoteObject {
    func clean(_ text: String?) -> String? { text.flatMap { mask.finds(in: $0) ? nil : $0 } }
    guard !mask.isEmpty else { return self }
    var object = self
    object.etag = clean(etag)
    object.version = clean(version)
    object.fileName = clean(fileName)
    object.lastModified = clean(lastModified)
    object.contentType = clean(contentType)
    object.contentEncoding = clean(contentEncoding)
    object.attributes = attributes.without(mask)
    object.facts = facts.filter { !mask.finds(in: $0.value) }
    return object
  }
}

extension TransferProgress {
  package func without(_ mask: SecretMask) -> TransferProgress {
    guard !mask.isEmpty else { return self }
    var progress = self
    progress.remote = remote.without(mask)
    progress.remoteID = remoteID.map(mask.masked)
    progress.failure = failure?.without(mask)
    if session?.holds(mask) == true { progress.session = nil }
    return progress
  }
}

extension RemoteSession {
  /// Whether a secret would be stored with it.
  package func holds(_ mask: SecretMask) -> Bool {
    !mask.isEmpty
      && (mask.finds(in: id) || facts.values.contains(where: mask.finds)
        || requiredHeaders.values.contains(where: mask.finds))
  }
}
