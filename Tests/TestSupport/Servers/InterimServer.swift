import Foundation

extension Bench {
  /// A server that answers each request with interim heads (RFC 9110, 15.2) alone, without end.
  ///
  /// - Parameter pause: seconds between two of them; 0 sends them as fast as they are taken.
  /// - Returns: its URL.
  package func interimServer(_ status: String, pause: Double) async throws -> String {
    let script = try scratch.write("interim.py", Self.interim)
    let process = try serve(Programs.python, ["-u", script, status, "\(pause)"])
    return "http://127.0.0.1:" + (try await Loopback.announced(process, after: "port "))
  }

  private static let interim = #"""
    import socket, sys, threading, time
    head, pause = ("HTTP/1.1 %s\r\n\r\n" % sys.argv[1]).encode(), float(sys.argv[2])
    if pause == 0: head *= 1000
    server = socket.create_server(("127.0.0.1", 0))
    print("port", server.getsockname()[1], flush=True)

    def read(connection):
      try:
        while connection.recv(65536): pass
      except OSError: pass

    def answer(connection):
      threading.Thread(target=read, args=(connection,), daemon=True).start()
      try:
        while True:
          connection.sendall(head)
          time.sleep(pause)
      except OSError: pass

    while True:
      threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()
    """#
}
