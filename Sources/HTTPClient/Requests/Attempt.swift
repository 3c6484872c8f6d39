/// What one try of a request came to.
package enum Attempt<Value> {
  case done(Value)
  /// It went well, and there is more of the same to ask for.
  case more
}

/// What a transfer could do itself about a failed try, before the retry policy is asked.
package enum Recovery<Value> {
  /// What was wanted is there all the same.
  case done(Value)
  /// The cause is mended: again at once, and not counted.
  case again
  /// Some of it arrived: the count of tries begins anew with this one.
  case progress
  /// Some of it arrived, and what is left of it is another request.
  case remainder
  case none
}
