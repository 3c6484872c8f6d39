import Foundation

extension Bench {
  /// A port of an address where connections are swallowed: its queue is full, so that first packets get no answer.
  package func blackHole(_ address: String) async throws -> String {
    let script = try scratch.write("blackhole.py", Self.hole)
    let process = try serve(Programs.python, ["-u", script, address])
    return try await Loopback.announced(process, after: "port ")
  }

  private static let hole = #"""
    import socket, sys, time
    server = socket.socket()
    server.bind((sys.argv[1], 0))
    server.listen(0)
    fillers = []
    for _ in range(8):
      filler = socket.socket()
      filler.setblocking(False)
      filler.connect_ex(server.getsockname())
      fillers.append(filler)
    time.sleep(0.3)
    print("port", server.getsockname()[1], flush=True)
    time.sleep(3600)
    """#
}
