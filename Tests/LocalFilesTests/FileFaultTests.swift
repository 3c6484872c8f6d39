import Glibc
import JobModel
import Testing

@testable import LocalFiles

/// What an errno means.
struct FileFaultTests {
  @Test(arguments: [
    (ENOSPC, ErrorCode.diskFull), (EDQUOT, .diskFull), (EACCES, .permissionDenied),
    (EPERM, .permissionDenied),
    (EROFS, .permissionDenied), (EIO, .ioError), (ENAMETOOLONG, .ioError),
  ])
  func codes(_ number: Int32, _ code: ErrorCode) {
    let failure = FileFault.failure(number, "write `a`")
    #expect(failure.code == code && failure.message.hasPrefix("can't write `a`: "))
    #expect(failure.message.contains("shorter") == (number == ENAMETOOLONG))
  }

  @Test(arguments: [
    (EROFS, "mount it for writing"), (EMFILE, "ulimit -n"),
    (ENOTDIR, "a file stands where a folder is needed"),
    (ELOOP, "symbolic link"), (ESTALE, "mount the file system again"),
  ])
  func advice(_ number: Int32, _ words: String) {
    #expect(FileFault.failure(number, "write `a`").message.contains(words))
  }

  /// What says nothing of the file decides nothing about it.
  @Test(arguments: [
    (EMFILE, true), (ENFILE, true), (ENOMEM, true), (EINTR, true), (EIO, false), (ENOENT, false),
  ])
  func whatPasses(_ number: Int32, _ passes: Bool) {
    var isPassing = false
    do { try FileFault.checkPassing(number, "open") } catch { isPassing = error is PassingFault }
    #expect(isPassing == passes)
  }
}
