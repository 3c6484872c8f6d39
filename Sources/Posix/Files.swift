import Glibc

/// Small files and folders by their paths. Links are followed, but by `remove` and `linkTarget`.
package enum Files {
  package static func exists(_ path: String) -> Bool { kind(path) != nil }
  package static func isFolder(_ path: String) -> Bool { kind(path) == S_IFDIR }
  package static func isRegular(_ path: String) -> Bool { kind(path) == S_IFREG }

  private static func kind(_ path: String) -> mode_t? {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
  }

  package static var workingFolder: String {
    guard let path = getcwd(nil, 0) else { return "." }
    defer { free(path) }
    return String(cString: path)
  }

  /// Whether its path is UTF-8.
  package static var workingFolderIsText: Bool {
    guard let path = getcwd(nil, 0) else { return true }
    defer { free(path) }
    return String(validatingCString: path) != nil
  }

  /// The whole file.
  package static func read(_ path: String) throws(SystemError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError() }
    defer { close(descriptor) }
    return try readToEnd(descriptor)
  }

  package static func readToEnd(_ descriptor: Int32) throws(SystemError) -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      let block = try read(descriptor, upTo: 1 << 16)
      if block.isEmpty { return bytes }
      bytes += block
    }
  }

  /// What one read(2) gives; empty at the end.
  package static func read(_ descriptor: Int32, upTo count: Int) throws(SystemError) -> [UInt8] {
    while true {
      var code: Int32 = 0
      let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        let read = Glibc.read(descriptor, buffer.baseAddress, count)
        (filled, code) = read < 0 ? (0, errno) : (read, 0)
      }
      if code == 0 { return bytes }
      guard code == EINTR else { throw SystemError(code) }
    }
  }

  /// Names in a folder, in no order; what is no UTF-8 in one is U+FFFD.
  package static func names(in folder: String) throws(SystemError) -> [String] {
    guard let stream = opendir(folder) else { throw SystemError() }
    defer { closedir(stream) }
    var names: [String] = []
    errno = 0
    while let entry = readdir(stream) {
      // The record ends with the name: more of it than that can't be copied.
      let place = UnsafeRawPointer(entry) + (MemoryLayout<dirent>.offset(of: \.d_name) ?? 0)
      let name = String(cString: place.assumingMemoryBound(to: CChar.self))
      if name != ".", name != ".." { names.append(name) }
      errno = 0
    }
    guard errno == 0 else { throw SystemError() }
    return names
  }

  /// Names in a folder, as `names` gives them, that are not UTF-8 and are of anything but a regular file.
  package static func unnamedFoldersAndLinks(in folder: String) -> Set<String> {
    guard let stream = opendir(folder) else { return [] }
    defer { closedir(stream) }
    var names: Set<String> = []
    while let entry = readdir(stream) {
      let place = UnsafeRawPointer(entry) + (MemoryLayout<dirent>.offset(of: \.d_name) ?? 0)
      let raw = place.assumingMemoryBound(to: CChar.self)
      let name = String(cString: raw)
      guard name.unicodeScalars.contains("\u{FFFD}") else { continue }
      var status = stat()
      guard fstatat(dirfd(stream), raw, &status, AT_SYMLINK_NOFOLLOW) == 0,
        status.st_mode & S_IFMT != S_IFREG
      else { continue }
      names.insert(name)
    }
    return names
  }

  package static func linkTarget(_ path: String) -> String? {
    let target = [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, filled in
      let count = buffer.withMemoryRebound(to: CChar.self) { text in
        text.baseAddress.map { readlink(path, $0, text.count) } ?? -1
      }
      filled = max(0, count)
    }
    return target.isEmpty ? nil : String(decoding: target, as: UTF8.self)
  }

  /// Makes a folder and those above it, for their owner only.
  package static func makeFolders(_ path: String) throws(SystemError) {
    guard mkdir(path, 0o700) != 0 else { return }
    let fault = SystemError()
    if fault.number == EEXIST, isFolder(path) { return }
    guard fault.number == ENOENT, let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")),
      slash > path.startIndex
    else { throw fault }
    try makeFolders(String(path[..<slash]))
    guard mkdir(path, 0o700) != 0 else { return }
    let second = SystemError()
    guard second.number == EEXIST, isFolder(path) else { throw second }
  }

  /// Brings a file's content, or a folder's names, to the disk.
  package static func sync(_ path: String) throws(SystemError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError() }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw SystemError() }
  }

  /// Removes a file, or a folder with all that is in it, as far as that can be done.
  package static func remove(_ path: String) {
    guard unlink(path) != 0, errno == EISDIR else { return }
    for name in (try? names(in: path)) ?? [] { remove(path + "/" + name) }
    rmdir(path)
  }
}
