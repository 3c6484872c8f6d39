import Endpoints
import JobModel

@testable import Transfers

/// What tests of a download's decisions share: an object of 105 bytes in chunks of 10, and what is said of it.
protocol FetchCase {}

extension FetchCase {
  func terms(_ change: (inout Fetch.Terms) -> Void = { _ in }) -> Fetch.Terms {
    var terms = Fetch.Terms(chunkSize: .bytes(10), chunksInFlight: 4, place: "http://h/a")
    change(&terms)
    return terms
  }

  func object(
    _ size: Int64? = 105, etag: String? = "\"1\"", change: (inout RemoteObject) -> Void = { _ in }
  ) -> RemoteObject {
    var object = RemoteObject()
    object.size = size
    object.etag = etag
    change(&object)
    return object
  }

  func chunk(_ range: Range<Int64>) -> ChunkRecord {
    ChunkRecord(offset: range.lowerBound, length: Int64(range.count), digest: "00000000")
  }

  func recorded(_ object: RemoteObject, _ change: (inout TransferProgress) -> Void = { _ in })
    -> TransferProgress
  {
    var progress = TransferProgress()
    progress.remote = object
    change(&progress)
    return progress
  }
}
