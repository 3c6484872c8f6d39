import Endpoints
import Glibc
import HTTPClient
import JobLedger
import JobModel
import Posix
import SFTPClient

/// Looks, before the first request, for what a run can use: variables and files of secrets, certificates and known
/// hosts. Commands are not run.
struct SecretCheck {
  private let job: Job
  /// What is not there, with the reason.
  private let absent: [(use: SecretUse, reason: String)]

  init(_ job: Job, _ secrets: Secrets) {
    self.job = job
    absent = job.secrets.compactMap { use in Self.reason(use, secrets).map { (use, $0) } }
  }

  /// One diagnostic a reference, for those that listings need.
  func forListings() -> [Diagnostic] {
    var names: Set<String> = []
    for template in job.templates {
      if case .prefix = template.fanOut {
        names.formUnion((template.direction == .copy ? template.sourceSettings : template.settings).keys)
      }
    }
    return diagnostics { use in use.endpoint.map(names.contains) ?? false }
  }

  /// One diagnostic a reference, for those that transfers with a turn in this run need.
  ///
  /// - Parameter isNewRun: completed transfers have a turn again.
  func forTransfers(_ ledger: JobLedger, selected: RowSet?, isNewRun: Bool) throws -> [Diagnostic] {
    try diagnostics(ledger, attaching: true) { transfer in
      hasTurn(transfer, selected, isNewRun) ? [transfer.source, transfer.destination] : []
    }
  }

  /// One diagnostic a reference, for those without which no server can be asked for what was uploaded.
  ///
  /// - Parameter isCompared: whether a transfer is to be compared.
  func forVerification(_ ledger: JobLedger, of isCompared: (LedgerTransfer) -> Bool) throws -> [Diagnostic] {
    try diagnostics(ledger) { transfer in
      transfer.settings.direction != .download && isCompared(transfer) ? [transfer.destination] : []
    }
  }

  /// - Parameters:
  ///   - attaching: their attach requests may be made as well.
  ///   - places: those of a transfer that are asked; none where it is not concerned.
  private func diagnostics(
    _ ledger: JobLedger, attaching: Bool = false, _ places: (LedgerTransfer) -> [Place]
  ) throws -> [Diagnostic] {
    guard !absent.isEmpty else { return [] }
    var endpoints: Set<String> = []
    var references: Set<SecretReference> = []
    var files: Set<String?> = []
    var last: Int64 = 0
    while true {
      let page = try ledger.page(after: last, onlyTouched: false, limit: 512, withFacts: false)
      guard let end = page.last else { break }
      last = end.seq
      for transfer in page {
        let asked = places(transfer)
        for case .remote(let name, _) in asked { endpoints.insert(name) }
        guard !asked.isEmpty else { continue }
        let isAskedBoth = asked.count > 1
        for policy in [transfer.settings.policy] + (isAskedBoth ? [transfer.settings.ofSource.policy] : []) {
          files.formUnion([policy.caFile, policy.clientCertificate, policy.clientKey])
        }
        let sources = isAskedBoth ? transfer.settings.sourceHeaders : []
        for case .secret(let reference) in (transfer.settings.headers + sources).map(\.value) {
          references.insert(reference)
        }
        guard attaching, let then = transfer.settings.then else { continue }
        if let name = then.endpoint { endpoints.insert(name) }
        for case .secret(let reference) in then.headers.map(\.value) { references.insert(reference) }
      }
    }
    return diagnostics { use in
      if let endpoint = use.endpoint { return endpoints.contains(endpoint) }
      switch use.source {
      case .reference(let reference): return references.contains(reference)
      case .file(let path): return files.contains(path)
      case .awsEnvironment, .keyFile: return false
      }
    }
  }

  private func hasTurn(_ transfer: LedgerTransfer, _ selected: RowSet?, _ isNewRun: Bool) -> Bool {
    guard transfer.settings.isEnabled, selected?.contains(transfer.seq) ?? true else { return false }
    switch transfer.state {
    case .paused(.user): return false
    case .completed, .upToDate: return isNewRun && transfer.settings.refresh != .never
    case .canceled, .skipped(.exists): return isNewRun
    case .queued, .running, .paused, .failed, .skipped: return true
    }
  }

  private static func isStream(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && [S_IFIFO, S_IFCHR].contains(status.st_mode & S_IFMT)
  }

  private func diagnostics(_ isUsed: (SecretUse) -> Bool) -> [Diagnostic] {
    var told: Set<SecretUse.Source> = []
    return absent.filter { isUsed($0.use) && told.insert($0.use.source).inserted }.map {
      Diagnostic(.error, $0.reason, at: $0.use.mark, cause: .unreadableInput)
    }
  }

  /// Why the secret can't be had; nil where it can, or where only its use will tell.
  private static func reason(_ use: SecretUse, _ secrets: Secrets) -> String? {
    do {
      switch use.source {
      case .reference(.environment(let name)): _ = try secrets.variable(name)
      // A pipe can be read once.
      case .reference(.file(let path)) where Self.isStream(path): break
      case .reference(.file(let path)): _ = try Secrets.file(path)
      case .reference(.command): break
      case .awsEnvironment: try secrets.aws.check()
      case .keyFile(let path): _ = try KeyFile.read(path)
      case .file(let path) where Self.isStream(path): break
      case .file(let path):
        do { _ = try Files.read(path) } catch {
          let key = use.path.split(separator: ".").last ?? ""
          return "the file of `\(key)`, `\(path)`, can't be read: \(error)"
        }
      }
      return nil
    } catch {
      return (error as? Failure)?.message ?? "\(error)"
    }
  }
}
