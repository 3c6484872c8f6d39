import Curl
import Endpoints
import JobModel
import Testing

@testable import HTTPClient

/// Each of libcurl's faults has one code, and says which request it was.
struct TransportFaultTests {
  private func request() throws -> WireRequest {
    let target = try AdmittedURL(try #require(WebURL("https://h/a")), for: "GET", policy: EffectivePolicy())
    return WireRequest("GET", target, headers: HeaderList(), body: .none)
  }

  @Test(arguments: [
    (CurlError.Kind.couldntResolve, ErrorCode.networkUnreachable, true),
    (.couldntConnect, .networkUnreachable, true),
    (.timedOut(.connect), .timeout, true), (.timedOut(.firstByte), .timeout, false),
    (.timedOut(.stall), .timeout, false), (.tls(.expired), .tlsFailed, false),
    (.pinMismatch, .tlsFailed, false),
    (.sendFailed, .networkUnreachable, false), (.receiveFailed, .networkUnreachable, false),
    (.emptyReply, .networkUnreachable, false), (.partialBody, .networkUnreachable, false),
    (.protocolViolation, .protocolViolation, false), (.badURL, .internal, false),
    (.badRequest, .internal, false),
    (.other, .networkUnreachable, false),
  ])
  func codes(_ kind: CurlError.Kind, _ code: ErrorCode, _ isUnconnected: Bool) throws {
    let error = TransportFault.translate(CurlError(kind: kind, message: "words"), try request())
    let failure = try #require((error as? TransportError)?.failure)
    #expect(failure.code == code && failure.isUnconnected == isUnconnected)
    #expect(failure.message.hasPrefix("GET https://h/a: "))
  }

  @Test func anInterfaceOfOursSaysNothingOfTheHost() throws {
    let error = TransportFault.translate(CurlError(kind: .interfaceUnavailable, message: "x"), try request())
    #expect((error as? TransportError)?.isOurs == true)
  }

  @Test func whatWeThrewComesBack() throws {
    let own = Failure(.diskFull, "ours")
    let error = TransportFault.translate(CurlError(kind: .aborted(own), message: ""), try request())
    #expect((error as? Failure) == own)
    #expect(
      TransportFault.translate(CurlError(kind: .cancelled, message: ""), try request()) is CancellationError)
  }
}
