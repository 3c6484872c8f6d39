import HaulCore
import JobModel

/// What an option's text says.
enum OptionValue {
  /// - Throws: `End` with 64, which names the option, where the text can't be read.
  static func read<Value>(_ option: String, _ read: () throws -> Value) throws -> Value {
    do { return try read() } catch let fault as ValueFault {
      throw End(.usage, "`\(option)`: \(fault.message)", hint: fault.hint)
    }
  }
}
