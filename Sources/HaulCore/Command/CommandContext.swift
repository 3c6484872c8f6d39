/// What the program gives each command: the environment, and where to print.
package struct CommandContext: Sendable {
  package let environment: ProcessEnvironment
  package let console: Console

  package init(environment: ProcessEnvironment, console: Console) {
    self.environment = environment
    self.console = console
  }

  var secrets: Secrets { Secrets(environment, showsErrors: console.style.takesForeignLines) }
}

/// The environment's variables as values.
package struct ProcessEnvironment: Sendable {
  package let variables: [String: String]
  /// The user's home folder: `HOME`, else what the system says.
  package let home: String

  /// - Parameter userHome: the home folder where `HOME` is not set.
  package init(_ variables: [String: String], userHome: String) {
    self.variables = variables
    home = variables["HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? userHome
  }

  /// A variable's value; nil where it is empty, too.
  package subscript(name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }
}
