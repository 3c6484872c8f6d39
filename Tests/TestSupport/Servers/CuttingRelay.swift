/// A relay to a port whose first connection is cut after a step of bytes from the server, the second after two, and so on.
package final class CuttingRelay: Sendable {
  package let port: Int
  private let process: Running

  package init(_ bench: Bench, to port: Int, step: Int) async throws {
    let script = try bench.scratch.write("relay.py", Self.script)
    process = try bench.serve(Programs.python, ["-u", script, String(port), String(step)])
    self.port = Int(try await Loopback.announced(process, after: "port ")) ?? 0
  }

  private static let script = #"""
    import socket, sys, threading
    target, step = int(sys.argv[1]), int(sys.argv[2])
    listener = socket.create_server(("127.0.0.1", 0))
    print("port", listener.getsockname()[1], flush=True)

    def forward(source, sink):
      try:
        while data := source.recv(65536): sink.sendall(data)
      except OSError: pass

    def serve(client, left):
      server = socket.create_connection(("127.0.0.1", target))
      threading.Thread(target=forward, args=(client, server), daemon=True).start()
      try:
        while left > 0 and (data := server.recv(min(left, 65536))):
          client.sendall(data)
          left -= len(data)
      except OSError: pass
      for end in (client, server):
        try: end.shutdown(socket.SHUT_RDWR)
        except OSError: pass
        end.close()

    number = 0
    while True:
      client, _ = listener.accept()
      number += 1
      threading.Thread(target=serve, args=(client, number * step), daemon=True).start()
    """#
}
