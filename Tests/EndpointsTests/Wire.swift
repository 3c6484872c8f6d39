import Endpoints
import JobModel

/// Answers as tests make them, and what became of them.
enum Wire {
  struct Unexpected: Error { var what: String }

  static func answer(_ status: Int, _ text: String, _ headers: HeaderList = [:], url: WebURL) -> Answer {
    Answer(head: AnswerHead(status: status, headers: headers), body: Array(text.utf8), url: url)
  }

  /// The code of a refusal; nil for a value.
  static func code<Value>(_ verdict: Verdict<Value>) -> ErrorCode? {
    switch verdict {
    case .value: nil
    case .failure(let failure): failure.code
    }
  }
}

/// Whether an answer says that the upload session is gone.
func losesSession<Value>(_ verdict: Verdict<Value>) -> Bool {
  if case .failure(let failure) = verdict { failure.class == .sessionGone } else { false }
}
