internal import JobModel

/// The rows of a file, one at a time; the columns that are wanted are bound first and then known by number.
protocol RowReader: AnyObject {
  /// Reads what stands before the rows. Returns the names that the file does not have, and those that it has.
  func bind(_ names: [String]) throws(RowFault) -> (missing: [String], known: [String])
  /// False at the end. After a fault that is not final the next call goes on behind it.
  func next() throws(RowFault) -> Bool
  /// A bound column of the current row; "" where it is empty.
  func value(_ index: Int) throws(ValueFault) -> String
  /// Appends a bound column of the current row as it stands in the file; false where its value is to be read.
  func append(_ index: Int, to bytes: inout [UInt8]) -> Bool
  /// Bound columns that no row so far has, where the rows say what columns there are.
  var unseen: [String] { get }
  /// Appends the current row's bytes; false where the row is not a piece of its file.
  func appendRow(to bytes: inout [UInt8]) -> Bool
  /// Appends what says what the rows' cells mean.
  func appendHead(to bytes: inout [UInt8])
  /// The path of the file that the rows stand in, where it is another than the one that the manifest names.
  var file: String? { get }
  /// The current row's first line.
  var line: Int { get }
  /// Where a bound column of the current row begins; nil: the row itself.
  func place(_ index: Int?) -> RowPlace
}

extension RowReader {
  var file: String? { nil }
  var unseen: [String] { [] }
  func appendRow(to bytes: inout [UInt8]) -> Bool { false }
  func appendHead(to bytes: inout [UInt8]) {}
  func append(_ index: Int, to bytes: inout [UInt8]) -> Bool { false }
}

/// A place in a row file: 1-based, the column in Unicode scalars.
struct RowPlace {
  var line: Int
  var column: Int
  var lineText: String
}

struct RowFault: Error {
  var message: String
  var hint: String?
  var place: RowPlace
  /// Nothing after it can be read.
  var isFinal: Bool
  var isUnreadable = false
}
