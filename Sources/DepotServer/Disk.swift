import Glibc

/// Small blocking file operations, with errors that name the file.
enum Disk {
  static func read(_ path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var content: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = Glibc.read(descriptor, &block, block.count)
      if count < 0 && errno == EINTR { continue }
      if count < 0 { return nil }
      if count == 0 { return content }
      content.append(contentsOf: block[..<count])
    }
  }

  /// Whole or not at all: written beside, synced, renamed over.
  static func replace(_ path: String, with content: [UInt8]) throws {
    let temporary = path + ".tmp"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SystemError("create \(temporary)") }
    do {
      defer { close(descriptor) }
      try writeAll(descriptor, content)
      guard fdatasync(descriptor) == 0 else { throw SystemError("sync \(temporary)") }
    }
    guard rename(temporary, path) == 0 else { throw SystemError("rename \(temporary) to \(path)") }
  }

  static func writeAll(_ descriptor: Int32, _ content: [UInt8]) throws {
    try content.withUnsafeBytes { bytes in
      var done = 0
      while done < bytes.count {
        let count = write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else { throw SystemError("write a file of depot's state") }
        done += count
      }
    }
  }

  static func writeAll(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
    var done = 0
    while done < bytes.count {
      let rest = bytes.count - done
      let count = pwrite(descriptor, bytes.baseAddress.map { $0 + done }, rest, off_t(offset + done))
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw SystemError("write the upload's data") }
      done += count
    }
  }

  static func list(_ folder: String) -> [String] {
    guard let stream = opendir(folder) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }

  /// Removes a folder of plain files. What is not there counts as removed.
  static func removeFolder(_ folder: String) {
    for name in list(folder) { unlink(folder + "/" + name) }
    rmdir(folder)
  }

  static func sync(folder: String) {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
  }
}
