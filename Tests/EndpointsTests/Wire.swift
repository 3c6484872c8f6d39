import Endpoints
import JobModel

/// Answers as tests make them, and what became of them.
enum Wire {
  struct Unexpected: Error { var what: String }

  static func response(_ status: Int, _ text: String, _ headers: HeaderList = [:], url: WebURL) -> Response {
    Response(head: ResponseHead(status: status, headers: headers), body: Array(text.utf8), url: url)
  }

  /// The code of a refusal; nil for a value.
  static func code<Value>(_ verdict: Result<Value, Failure>) -> ErrorCode? {
    switch verdict {
    case .success: nil
    case .failure(let failure): failure.code
    }
  }
}

/// Whether an answer says that the upload session is gone.
func losesSession<Value>(_ verdict: Result<Value, Failure>) -> Bool {
  if case .failure(let failure) = verdict { failure.class == .sessionGone } else { false }
}
