/// The part file of a download as it is on record: its tag, and what proves that it is still that file.
package struct PartRecord: Sendable, Hashable {
  /// Hex digits of its name.
  package var tag: String
  package var inode: UInt64
  /// Its folder's inode. Another one says that the job was copied elsewhere, and its part files with it.
  package var folder: UInt64
  /// The owner's user id, as the file system tells it.
  package var owner: UInt32

  package init(tag: String, inode: UInt64, folder: UInt64, owner: UInt32) {
    self.tag = tag
    self.inode = inode
    self.folder = folder
    self.owner = owner
  }
}
