extension UInt8 {
  /// An ASCII digit of a hexadecimal number, its letters in lower case.
  @inlinable package var isLowerHexDigit: Bool {
    (0x30...0x39).contains(self) || (0x61...0x66).contains(self)
  }

  /// An ASCII digit of a hexadecimal number.
  @inlinable package var isHexDigit: Bool { isLowerHexDigit || (0x41...0x46).contains(self) }
}
