import ArgumentParser

/// What goes with a manifest that comes by standard input.
struct InputOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The folder of a manifest that comes by standard input.", discussion: "Default: the working folder.",
      valueName: "dir"))
  var root: String?
}
