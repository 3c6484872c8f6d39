import ArgumentParser
import HaulCore

/// What a shell offers for arguments; jobs and ids are asked for when somebody types.
extension CompletionKind {
  static var manifests: CompletionKind { .file(extensions: ["yaml", "yml"]) }

  /// Names of jobs that have state, and manifests.
  static var jobs: CompletionKind { suggestions { $0.jobs } }

  /// Ids of the job that the command line names.
  static var ids: CompletionKind { suggestions { $0.ids } }

  /// Parts of that job which have state.
  static var shards: CompletionKind { suggestions { $0.shards } }

  private static func suggestions(
    _ choose: @escaping @Sendable (Suggestions) -> [String]
  ) -> CompletionKind {
    .custom { words, index, prefix in
      choose(
        Suggestions(
          words: words, index: index, prefix: prefix, marksFolders: CompletionShell.requesting != .bash,
          CurrentProcess.environment))
    }
  }
}
