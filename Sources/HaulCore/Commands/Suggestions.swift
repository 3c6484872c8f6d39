import JobLedger
import JobModel
import Posix

/// What a shell offers for the word that is being typed: jobs, manifests, ids. Changes nothing.
package struct Suggestions: Sendable {
  /// No more than a screen shows.
  static let limit = 200

  /// The words before the one that is typed, the program first.
  private let words: [String]
  private let prefix: String
  private let marksFolders: Bool
  private let state: StateFolder
  private let environment: ProcessEnvironment

  /// - Parameters:
  ///   - words: of the command line as it was typed, quotes and all.
  ///   - index: of the word that is typed.
  ///   - prefix: that word, up to the cursor.
  ///   - marksFolders: whether their names end in `/`; bash adds its own.
  package init(
    words: [String], index: Int, prefix: String, marksFolders: Bool, _ environment: ProcessEnvironment
  ) {
    self.words = words.prefix(max(0, index)).map(Self.unquoted)
    self.prefix = Self.unquoted(prefix)
    self.marksFolders = marksFolders
    self.environment = environment
    let all = StateFolder(given: Self.value(of: "--state-dir", in: self.words, environment), environment)
    // What is typed as `auto` means another part on each machine.
    state = all.part(Self.value(of: "--shard", in: self.words, environment).flatMap { try? Shard($0) })
  }

  /// Names of jobs that have state, then manifests and folders.
  package var jobs: [String] { shown(state.everyJob + files) }

  /// The parts of the job that the command line names, as far as they have state.
  package var shards: [String] {
    let job = namedJob
    return shown(["auto"] + (job.map { state.shards(of: $0).map(\.text) } ?? []))
  }

  /// Ids of the job that the command line names, as far as they have state.
  package var ids: [String] {
    guard let job = namedJob else { return [] }
    return shown(RecordedIDs.beginning(with: prefix, in: state.folder(job), limit: Self.limit))
  }

  /// The first that the command line names; the program and its command are no jobs.
  private var namedJob: String? {
    for word in words.dropFirst(2) { if let job = named(word) { return job } }
    return nil
  }

  private func named(_ word: String) -> String? {
    guard !word.isEmpty, !word.hasPrefix("-"), state.hasState(of: word) || Files.isRegular(word) else {
      return nil
    }
    return try? state.jobName(of: word, environment)
  }

  private var files: [String] {
    let parts = prefix.split(separator: "/", omittingEmptySubsequences: false)
    let folder = parts.dropLast().map { $0 + "/" }.joined()
    let names = (try? Files.names(in: folder.isEmpty ? "." : folder)) ?? []
    return names.sorted().compactMap { name in
      guard !name.hasPrefix(".") || prefix.hasPrefix(folder + ".") else { return nil }
      let path = folder + name
      if Files.isFolder(path) { return marksFolders ? path + "/" : path }
      return name.hasSuffix(".yaml") || name.hasSuffix(".yml") ? path : nil
    }
  }

  private func shown(_ texts: [String]) -> [String] {
    Array(texts.lazy.filter { $0.hasPrefix(prefix) && Self.isPlain($0) }.prefix(Self.limit))
  }

  /// bash expands what it is offered (`compgen -W`): a file named `$(…)` would be a command. What any shell would take
  /// for more than text is left to be typed.
  private static func isPlain(_ text: String) -> Bool {
    !text.hasPrefix("-")
      && text.unicodeScalars.allSatisfy {
        $0.properties.isAlphabetic || ("0"..."9").contains($0) || "._/-+,@%".unicodeScalars.contains($0)
      }
  }

  private static func unquoted(_ word: String) -> String {
    word.filter { $0 != "'" && $0 != "\"" && $0 != "\\" }
  }

  /// The value of an option; bash makes a word of the `=`.
  private static func value(
    of option: String, in words: [String], _ environment: ProcessEnvironment
  ) -> String? {
    guard let at = words.firstIndex(where: { $0 == option || $0.hasPrefix(option + "=") }) else { return nil }
    let value = words[at...].joined(separator: "\0").dropFirst(option.count)
      .drop { $0 == "=" || $0 == "\0" }.prefix { $0 != "\0" }
    return value.hasPrefix("~/") ? environment.home + value.dropFirst() : String(value)
  }
}
