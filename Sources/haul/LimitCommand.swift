import ArgumentParser
import Foundation
import JobLedger
import JobModel
import Reporting

struct LimitCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "limit",
    abstract: "Sets a job's bandwidth, now and in later runs, until `default` gives it back to its policies.")

  @Argument(help: "A manifest, or a job's name.")
  var job: String

  @Argument(help: "Bytes a second, each way (5MB/s, 512KiB/s), `unlimited`, or `default`.")
  var rate: String

  @OptionGroup var common: CommonOptions

  func run() async throws {
    let limit: Bandwidth?
    if rate == "default" {
      limit = nil
    } else {
      do {
        let rate = try Units.rate(rate)
        limit = Bandwidth(download: rate, upload: rate)
      } catch {
        throw End(.usage, "`haul limit`: \(error.message)", hint: "a rate like `5MB/s`, or `default`")
      }
    }
    let state = common.stateFolder
    let name = try state.resolve(job)
    let ledger = try state.open(name)
    let isRunning: Bool
    do {
      if let lock = try RunLock.take(state.folder(name), waiting: false) {
        defer { withExtendedLifetime(lock) {} }
        try ledger.setLimit(limit)
        isRunning = false
      } else {
        let number = try ledger.request(limit: limit, at: Date().timeIntervalSince1970)
        try await Controls.answer(number, ledger)
        isRunning = true
      }
    } catch let error as LedgerError {
      throw End(.cannotCreate, error.description)
    }
    if common.json {
      let json: JSON = [
        "job": .string(name), "bandwidth": CommonJSON.bandwidth(limit), "running": .bool(isRunning),
      ]
      Terminal.out(json.text + "\n")
    } else {
      let when = isRunning ? "" : " from its next run on"
      Terminal.note("limit: \(Figures.bandwidth(limit)) for `\(name)`\(when)")
    }
  }
}
