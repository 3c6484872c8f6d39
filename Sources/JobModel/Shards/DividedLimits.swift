extension EffectivePolicy {
  /// What one part keeps to: rates, budget, transfers and connections divided by the count. `auto` and `unlimited` stay
  /// as they are; what is counted a transfer, a request or a file system stays, too.
  package func divided(for shard: Shard) -> EffectivePolicy {
    var part = self
    part.transfers = shard.share(of: transfers)
    part.connectionsTotal = shard.share(of: connectionsTotal)
    part.connectionsPerHost = shard.share(of: connectionsPerHost)
    part.downloadRate = shard.share(of: downloadRate)
    part.uploadRate = shard.share(of: uploadRate)
    part.schedule = schedule.map { entry in
      ScheduleEntry(
        window: entry.window, download: entry.download.map(shard.share), upload: entry.upload.map(shard.share)
      )
    }
    part.budget = budget.map(shard.share)
    if part != self { part.undivided = .of(self) }
    return part
  }
}

extension JobLimits {
  /// What one part keeps to.
  package func divided(for shard: Shard) -> JobLimits {
    var part = self
    part.transfers = transfers.map(shard.share)
    part.connectionsTotal = connectionsTotal.map(shard.share)
    part.connectionsPerHost = connectionsPerHost.map(shard.share)
    part.downloadRate = downloadRate.map(shard.share)
    part.uploadRate = uploadRate.map(shard.share)
    part.budget = budget.map(shard.share)
    if part != self { part.undivided = .of(self) }
    return part
  }
}

extension Shard {
  package func share(of limit: FlightLimit) -> FlightLimit {
    switch limit {
    case .auto: .auto
    case .number(let number): .number(Int(share(of: Int64(number))))
    }
  }

  package func share(of rate: Rate) -> Rate {
    switch rate {
    case .unlimited: .unlimited
    case .bytesPerSecond(let bytes): .bytesPerSecond(share(of: bytes))
    }
  }

  package func share(of budget: Budget) -> Budget {
    Budget(bytes: share(of: budget.bytes), period: budget.period)
  }
}
