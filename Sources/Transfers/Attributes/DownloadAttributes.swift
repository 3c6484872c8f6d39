import Endpoints
import JobLedger
import JobModel

/// The attributes that a downloaded file keeps of its object: its time and its mode.
struct DownloadAttributes {
  private let settings: TransferSettings
  private let ends: AttributePlan.Ends

  init(_ settings: TransferSettings, tells: Set<Attribute>) {
    self.settings = settings
    ends = AttributePlan.Ends(tells: tells, keeps: LocalAttributes.keeps, areRemote: false)
  }

  init(of record: TransferRecord) {
    self.init(
      record.transfer.settings,
      tells: RemotePlace.driver(record.transfer.source, record.context.endpoints).abilities.tells)
  }

  /// Those that `preserve` asks for, and that the source's kind tells and a file keeps.
  var wanted: Set<Attribute> {
    ends.tells.intersection(ends.keeps).filter {
      settings.preserve.asks(for: $0) && ($0 != .mode || settings.mode == nil)
    }
  }

  /// The source has to be asked what the file's time and mode are to be.
  var asksSource: Bool { settings.keepsSourceTime || !wanted.isEmpty }

  /// Notes what is demanded though no file has a place for it, or the source's kind does not tell it.
  ///
  /// - Throws: `ATTRIBUTES_LOST` where there is any.
  func check(_ place: String, _ record: TransferRecord) throws(Failure) {
    let lost = settings.preserve.demanded.filter { !ends.keeps.contains($0) || !ends.tells.contains($0) }
    guard !lost.isEmpty else { return }
    record.note(.attributes(KeptAttributes(lost: lost)))
    try AttributePlan.check(lost, settings.preserve, "a download from \(place) would go without")
  }

  /// Notes that the time is demanded and can't be read, which the head of an answer tells before its bytes are taken.
  ///
  /// - Throws: `ATTRIBUTES_LOST` where it is so.
  func checkTime(of object: RemoteObject, _ place: String, _ record: TransferRecord) throws(Failure) {
    guard settings.preserve.demands(.mtime), object.lastModified != nil else { return }
    let plan = plan(object)
    guard plan.lost.contains(.mtime) else { return }
    record.note(.attributes(plan.kept))
    try plan.check(settings.preserve, "a download from \(place)")
  }

  /// What is set on the file, and what comes of the others.
  func plan(_ object: RemoteObject) -> AttributePlan {
    var attributes = object.attributes
    // A time or a mode in the manifest is the file's, whatever the object had.
    attributes.mtime = sourceTime(object) ?? object.mtime(byLastModified: true)
    if settings.mode != nil {
      attributes.mode = nil
      attributes.metadata[ObjectAttributes.modeName] = nil
    }
    return AttributePlan(
      settings.preserve, ends, of: attributes, hasType: object.contentType != nil,
      hidesTime: attributes.mtime == nil && object.lastModified != nil)
  }

  /// The file's time in nanoseconds since 1970; nil for now.
  func time(_ plan: AttributePlan, _ object: RemoteObject) -> Int64? {
    plan.sent.mtime ?? sourceTime(object)
  }

  /// Last-Modified, where the manifest asks for that.
  private func sourceTime(_ object: RemoteObject) -> Int64? {
    guard settings.keepsSourceTime else { return nil }
    var plain = object
    plain.attributes.mtime = nil
    return plain.mtime(byLastModified: true)
  }

  /// The source's time is asked for, and what it tells is no date.
  func hasUnreadableTime(_ plan: AttributePlan, _ object: RemoteObject) -> Bool {
    settings.keepsSourceTime && object.lastModified != nil && time(plan, object) == nil
  }

  /// The file's permission bits; nil as the umask has them.
  func mode(_ plan: AttributePlan) -> UInt16? { settings.mode ?? plan.sent.mode }
}
