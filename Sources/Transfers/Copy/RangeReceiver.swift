import Endpoints
import JobModel

/// Takes a part of an object of which the version is known, and judges each answer by that version.
final class RangeReceiver: ByteReceiver {
  /// All that was wanted is here, and the answer goes on.
  struct Enough: Error {}

  private let wanted: Range<Int64>
  private let object: RemoteObject
  private let place: String
  private let use: (UnsafeRawBufferPointer) throws -> Void
  private let skip: (Int) -> Void
  /// Whose the next byte is.
  private var position: Int64 = 0
  /// Up to here the wanted bytes have come.
  private(set) var reached: Int64

  /// - Parameters:
  ///   - skip: told of bytes that came and were not wanted.
  ///   - use: given the wanted bytes, in order.
  init(
    _ wanted: Range<Int64>, of object: RemoteObject, at place: String, skip: @escaping (Int) -> Void,
    use: @escaping (UnsafeRawBufferPointer) throws -> Void
  ) {
    (self.wanted, self.object, self.place, self.use, self.skip) = (wanted, object, place, use, skip)
    reached = wanted.lowerBound
  }

  func open(_ opening: Opening) throws {
    guard object.isSameVersion(as: opening.seen) else { throw changed(opening.seen) }
    switch opening.extent {
    case .bytes(let range):
      // What earlier attempts copied is in no digest of the whole.
      if let untied = opening.untied { throw untied }
      position = range.lowerBound
    case .whole:
      position = 0
      // From here on every chunk would cost all that is before it.
      guard wanted.lowerBound == 0 else {
        throw Failure(.rangeInvalid, "\(place) does not serve ranges", class: .rangesUnserved)
      }
    case .nothing: position = 0
    case .changed: throw changed(opening.seen)
    }
  }

  func take(_ bytes: UnsafeRawBufferPointer) throws {
    let start = position
    position += Int64(bytes.count)
    // A HEAD may tell less than there is.
    if let size = object.size, position > size { throw changed(RemoteObject()) }
    let part = (start..<position).clamped(to: reached..<max(reached, wanted.upperBound))
    if part.count < bytes.count { skip(bytes.count - part.count) }
    if !part.isEmpty {
      try use(.init(rebasing: bytes[Int(part.lowerBound - start)..<Int(part.upperBound - start)]))
      reached = part.upperBound
    }
    if position > wanted.upperBound { throw Enough() }
  }

  private func changed(_ seen: RemoteObject) -> Failure {
    Failure(
      .remoteChanged, "\(place) changed while it was copied", class: .sourceChanged, expected: object.etag,
      actual: seen.etag)
  }
}
