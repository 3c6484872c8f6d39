import Admission
import JobModel
import Locks

/// Keeps what is worth a diagnostic of all that hosts do: the first time of each kind, for each host.
final class HostLog: Sendable {
  private let known = Locked<Set<String>>([])
  private let report: @Sendable (Diagnostic) -> Void

  init(report: @escaping @Sendable (Diagnostic) -> Void) { self.report = report }

  func note(_ news: HostNews) {
    switch news.change {
    case .slowed, .opened, .givenUp, .noNetwork: break
    case .recovered, .sized, .probing, .closed, .networkBack: return
    }
    guard known.withLock({ $0.insert("\(news.change.word) \(news.host)").inserted }) else { return }
    report(Diagnostic(.warning, "\(news.host): \(news.change.reason)"))
  }
}
