import Endpoints
import JobModel

/// Gives an upload its times, its permissions and its name.
///
/// Where a server can't rename over a file (`posix-rename@openssh.com`), that one is first put aside under a name made of the
/// session's, and put back if the second rename fails. A kill in between leaves both: the next try goes on from there.
struct SFTPClosing {
  let upload: SFTPUpload
  let session: RemoteSession
  let temporary: SFTPPath
  /// Bytes that it is to have.
  let size: Int64
  /// What stands at the destination is kept.
  let mustBeNew: Bool
  let remark: @Sendable (Diagnostic) -> Void

  private static let ending = "give the upload its name"

  /// - Parameter open: the upload's handle, where it is open.
  nonisolated(nonsending) func run(
    _ files: SFTPFiles, over open: SFTPSending?, _ access: SFTPAccess
  ) async throws {
    if let open {
      try await finish(open.handle, access.files(open.connection), isWritable: true)
      open.isClosed()
    } else {
      let handle = try await files.open(.open(temporary.text, .read, SFTPAttributes()), "look at the upload")
      try await finish(handle, files, isWritable: false)
    }
    try await rename(files)
  }

  /// Sets what the file is to be like, and closes it: all in one round trip.
  private nonisolated(nonsending) func finish(
    _ handle: SFTPHandle, _ files: SFTPFiles, isWritable: Bool
  ) async throws {
    let (connection, attributes) = (handle.connection, upload.attributes(session))
    func post(_ request: SFTPRequest) throws -> SFTPAnswer {
      try connection.post(request, within: files.timeout)
    }
    let set = try post(
      isWritable ? .setHandleStat(handle.id, attributes) : .setStat(temporary.text, attributes))
    let synced = connection.extensions.contains(.sync) ? try post(.sync(handle.id)) : nil
    let closed = try post(.close(handle.id))
    // Behind its end: some servers are still writing until then.
    let looked = try post(.linkStat(temporary.text))
    if case .status(let status) = try await set.value(), status.code != .ok {
      let refusal = SFTPFailure.of(
        status, doing: "set the upload's time and permissions", at: upload.url.description)
      remark(Diagnostic(.warning, refusal.message))
    }
    if let synced { _ = try files.refused(try await synced.value(), "bring the upload to its disk") }
    _ = try files.refused(try await closed.value(), "close the upload")
    guard case .attributes(let seen) = try files.refused(try await looked.value(), "look at the upload")
    else {
      throw files.confused("look at the upload")
    }
    guard seen.bytes == nil || seen.bytes == size else {
      throw Failure(
        .sessionExpired,
        "\(files.place): the upload's temporary file has \(seen.bytes ?? 0) bytes in place of \(size): another client writes there"
      )
    }
  }

  private nonisolated(nonsending) func rename(_ files: SFTPFiles) async throws {
    let (old, new) = (temporary.text, upload.file.text)
    do {
      if mustBeNew {
        if !files.connection.extensions.contains(.replacingRename),
          try await Self.putBack(upload.aside(session), to: upload.file, files)
        {
          throw Failure(.destinationExists, "\(files.place): what an earlier try put aside is there again")
        }
        try await files.done(.rename(old, to: new), Self.ending)
      } else if files.connection.extensions.contains(.replacingRename) {
        try await files.done(.replacingRename(old, to: new), Self.ending)
      } else {
        try await replace(files)
      }
    } catch let failure as Failure where ![.networkUnreachable, .timeout, .notFound].contains(failure.code) {
      guard let there = try await files.found(.linkStat(new)) else { throw failure }
      if there.kind == .folder {
        throw Failure(
          .destinationExists,
          "\(files.place) is a folder: haul replaces files alone; write another name after `to`")
      }
      guard mustBeNew else { throw failure }
      throw Failure(
        .destinationExists,
        "there is a file at \(files.place) already: it came while the upload was under way")
    }
  }

  private nonisolated(nonsending) func replace(_ files: SFTPFiles) async throws {
    let aside = upload.aside(session)
    // The upload itself first: without it nothing is moved.
    guard try await files.found(.linkStat(temporary.text)) != nil else {
      throw Failure(.notFound, "\(files.place): the upload is gone")
    }
    if let there = try await files.found(.linkStat(upload.file.text)) {
      guard there.kind != .folder else {
        throw Failure(
          .destinationExists,
          "\(files.place) is a folder: haul replaces files alone; write another name after `to`")
      }
      if try await files.found(.linkStat(aside.text)) != nil {
        try await files.done(.remove(aside.text), "remove a file of an earlier try")
      }
      try await files.done(.rename(upload.file.text, to: aside.text), "put the old file aside")
    }
    do {
      try await files.done(.rename(temporary.text, to: upload.file.text), Self.ending)
    } catch {
      try await Self.putBack(aside, to: upload.file, files)
      throw error
    }
    if try await files.found(.linkStat(aside.text)) != nil {
      try await files.done(.remove(aside.text), "remove the old file")
    }
  }

  /// Gives a file that was put aside its name again, where nothing else has it.
  ///
  /// - Returns: whether it has it again.
  @discardableResult
  nonisolated(nonsending) static func putBack(_ aside: SFTPPath, to file: SFTPPath, _ files: SFTPFiles)
    async throws -> Bool
  {
    guard try await files.found(.linkStat(aside.text)) != nil else { return false }
    guard try await files.found(.linkStat(file.text)) == nil else {
      try await files.done(.remove(aside.text), "remove the old file")
      return false
    }
    try await files.done(.rename(aside.text, to: file.text), "put the old file back")
    return true
  }
}
