import Foundation

/// What stands between sshd and OpenSSH's own `sftp-server`, and makes it misbehave: packets go through it, but for one fault.
package enum SFTPFault: String, Sendable {
  /// Starts, and says nothing.
  case silent
  /// Bytes 256 KiB to 512 KiB of a file are acknowledged and not written; behind 768 KiB the server breaks down, once.
  case forgetful
  /// No `posix-rename@openssh.com`; the connection breaks behind the second rename's answer, once.
  case lostRename
  /// The same, but the server falls silent in place of that.
  case stuckRename
  /// Writes from byte 160 MiB on are never answered, once; each connection breaks behind 70 MiB that were read.
  case brokenReads
  /// A temporary file is removed while it is read, once; or another, shorter one takes its name.
  case removedAmid, replacedAmid
  /// Another file of the same size and time takes a file's name just before that is to have it, once.
  case rival
  /// Folders are listed, and files told, without permissions and types.
  case noModes
  /// Files are told to be a byte shorter than they are.
  case understates
  /// A folder's end is told as an answer without names.
  case endlessFolder

  /// What sshd is to start.
  ///
  /// - Parameter marker: is made where a fault that comes once has come.
  func subsystem(_ folder: String, marker: String) throws -> String {
    let script = folder + "/filter.py"
    try Data(Self.script.utf8).write(to: URL(fileURLWithPath: script))
    return "\(Programs.python) \(script) \(rawValue) \(marker)"
  }

  private static let script = """
    import os, struct, subprocess, sys, threading, time

    SERVERS = ['/usr/lib/openssh/sftp-server', '/usr/libexec/openssh/sftp-server', '/usr/lib/ssh/sftp-server']
    CHUNK = 256 << 10
    fault, marker = sys.argv[1:]
    lock = threading.Lock()
    asked = {}
    stuck = False

    def once():
        try: os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError: return False
        return True

    def packets(stream):
        while len(head := stream.read(4)) == 4: yield stream.read(struct.unpack('>I', head)[0])

    def write(stream, body):
        stream.write(struct.pack('>I', len(body)) + body)
        stream.flush()

    def give(body):
        with lock: write(sys.stdout.buffer, body)

    def text(body, at):
        return body[at + 4:at + 4 + struct.unpack_from('>I', body, at)[0]]

    def without_rename(version):
        kept, at = version[:5], 5
        while at < len(version):
            name = text(version, at)
            end = at + 8 + len(name) + len(text(version, at + 4 + len(name)))
            if name != b'posix-rename@openssh.com': kept += version[at:end]
            at = end
        return kept

    def without_modes(body):
        kept, at = body[:9], 9
        if body[0] == 105: kept, at = body[:5], 5
        while at < len(body):
            if body[0] == 104:
                end = at + 4 + len(text(body, at))
                end += 4 + len(text(body, end))
                kept, at = kept + body[at:end], end
            flags, = struct.unpack_from('>I', body, at)
            mode = at + 4 + 8 * (flags & 1) + 8 * (flags >> 1 & 1)
            end = mode + 4 * (flags >> 2 & 1) + 8 * (flags >> 3 & 1)
            kept += struct.pack('>I', flags & 11) + body[at + 4:mode] + body[mode + 4 * (flags >> 2 & 1):end]
            at = end
        return kept

    def answers(server):
        renames = read = 0
        for body in packets(server.stdout):
            kind, id = body[0], body[1:5]
            question = asked.pop(id, None)
            if kind == 2 and fault.endswith('Rename'): body = without_rename(body)
            if fault == 'brokenReads' and kind == 103:
                read += len(body)
                if read > 70 << 20: os._exit(1)
            if fault == 'understates' and kind == 105 and body[8] & 1:
                size, = struct.unpack_from('>Q', body, 9)
                body = body[:9] + struct.pack('>Q', max(0, size - 1)) + body[17:]
            if fault == 'noModes' and kind in (104, 105): body = without_modes(body)
            if fault == 'endlessFolder' and question == 12 and kind == 101: body = bytes([104]) + id + bytes(4)
            give(body)
            renames += question == 18
            if fault.endswith('Rename') and question == 18 and renames == 2 and once():
                while fault == 'stuckRename': time.sleep(60)
                time.sleep(0.3)
                os._exit(1)

    def swallows(body):
        global stuck
        if fault == 'brokenReads' and body[0] == 6 and not stuck:
            offset, = struct.unpack_from('>Q', body, 9 + len(text(body, 5)))
            stuck = offset >= 160 << 20 and once()
        return stuck

    temporary = None

    def unseats(body):
        global temporary
        if not fault.endswith('Amid'): return
        if body[0] == 3 and text(body, 5).endswith(b'.tmp'): temporary = text(body, 5)
        if body[0] != 5 or not temporary or not once(): return
        os.remove(temporary)
        if fault == 'replacedAmid':
            with open(temporary, 'wb') as other: other.write(bytes(CHUNK))

    def rivals(body):
        if fault != 'rival' or body[0] != 18 or not once(): return
        old = text(body, 5)
        made = os.stat(old)
        new = text(body, 9 + len(old))
        with open(new, 'xb') as other: other.write(bytes(made.st_size))
        os.utime(new, (made.st_mtime, made.st_mtime))

    def forgets(body):
        if fault != 'forgetful' or body[0] != 6 or os.path.exists(marker): return False
        offset, = struct.unpack_from('>Q', body, 9 + len(text(body, 5)))
        if offset >= 3 * CHUNK and once():
            time.sleep(0.3)
            os._exit(1)
        if not CHUNK <= offset < 2 * CHUNK: return False
        give(struct.pack('>B4sIII', 101, body[1:5], 0, 0, 0))
        return True

    if fault == 'silent':
        sys.stdin.buffer.read()
        sys.exit()
    server = subprocess.Popen([next(s for s in SERVERS if os.path.exists(s))], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    threading.Thread(target=answers, args=[server], daemon=True).start()
    for body in packets(sys.stdin.buffer):
        unseats(body)
        rivals(body)
        if forgets(body) or swallows(body): continue
        if body[0] != 1: asked[body[1:5]] = body[0]
        write(server.stdin, body)
    os._exit(0)
    """
}
