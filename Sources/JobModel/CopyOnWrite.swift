/// A large value that its copies share until one of them is changed: what hands it on pays for one reference, not for
/// all that the value refers to.
///
/// What other targets read often has an `@inlinable` accessor of its own in place of the wrapper's, which they would call,
/// and which copies.
@propertyWrapper
package struct CopyOnWrite<Value: Sendable>: Sendable {
  @usableFromInline
  package final class Storage: Sendable {
    @usableFromInline package let value: Value

    @inlinable
    package init(_ value: Value) { self.value = value }
  }

  @usableFromInline package var storage: Storage

  @inlinable
  package init(wrappedValue: Value) { storage = Storage(wrappedValue) }

  @inlinable package var wrappedValue: Value {
    _read { yield storage.value }
    set { storage = Storage(newValue) }
    _modify {
      var value = storage.value
      defer { storage = Storage(value) }
      yield &value
    }
  }
}

extension CopyOnWrite: CustomStringConvertible {
  package var description: String { "\(storage.value)" }
}

extension CopyOnWrite: Equatable where Value: Equatable {
  package static func == (one: CopyOnWrite, other: CopyOnWrite) -> Bool {
    one.storage === other.storage || one.storage.value == other.storage.value
  }
}

extension CopyOnWrite: Hashable where Value: Hashable {
  package func hash(into hasher: inout Hasher) { storage.value.hash(into: &hasher) }
}

/// The same of a value that is seldom there.
@propertyWrapper
package struct CopyOnWriteOptional<Value: Sendable>: Sendable {
  @usableFromInline package var storage: CopyOnWrite<Value>.Storage?

  @inlinable
  package init(wrappedValue: Value?) { storage = wrappedValue.map { CopyOnWrite<Value>.Storage($0) } }

  @inlinable package var wrappedValue: Value? {
    get { storage?.value }
    set { self = CopyOnWriteOptional(wrappedValue: newValue) }
    _modify {
      var value = storage?.value
      defer { storage = value.map { CopyOnWrite<Value>.Storage($0) } }
      yield &value
    }
  }
}

extension CopyOnWriteOptional: CustomStringConvertible {
  package var description: String { "\(storage?.value as Value?)" }
}

extension CopyOnWriteOptional: Equatable where Value: Equatable {
  package static func == (one: CopyOnWriteOptional, other: CopyOnWriteOptional) -> Bool {
    one.storage === other.storage || one.storage?.value == other.storage?.value
  }
}

extension CopyOnWriteOptional: Hashable where Value: Hashable {
  package func hash(into hasher: inout Hasher) { storage?.value.hash(into: &hasher) }
}
