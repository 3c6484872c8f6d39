/// Content that ended before its stated size.
package struct ShortRead: Error, Equatable, CustomStringConvertible {
  package let offset: Int64
  package let wanted: Int
  package let got: Int

  package init(offset: Int64, wanted: Int, got: Int) {
    self.offset = offset
    self.wanted = wanted
    self.got = got
  }

  package var description: String {
    "\(wanted) bytes were asked for at offset \(offset) and \(got) came: the content is shorter than its size"
  }
}
