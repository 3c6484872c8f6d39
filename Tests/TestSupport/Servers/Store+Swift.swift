import Foundation

/// OpenStack Swift on one folder: its four servers, with `s3api` over SLO and `tempauth`, and no memcached.
extension Store {
  /// The proxy server, once its rings and settings are written; the other three end with the bench.
  static func swift(_ bench: Bench, _ folder: String, _ bin: String, port: Int) async throws -> Running {
    let kinds = ["account", "container", "object"]
    let ports = try kinds.map { _ in try Loopback.freePort() }
    try FileManager.default.createDirectory(
      atPath: folder + "/devices/d", withIntermediateDirectories: true)
    _ = try await Venv.run(rings, [folder] + ports.map(String.init))
    func start(_ kind: String, _ port: Int, _ rest: String) throws -> Running {
      let text = """
        [DEFAULT]
        bind_ip = 127.0.0.1
        bind_port = \(port)
        workers = 0
        user = \(NSUserName())
        swift_dir = \(folder)
        devices = \(folder)/devices
        mount_check = false
        fallocate_reserve = 0
        disable_fallocate = true
        \(rest)
        """
      let settings = folder + "/\(kind)-server.conf"
      try Data(text.utf8).write(to: URL(fileURLWithPath: settings))
      return try bench.serve(bin + "/swift-\(kind)-server", [settings])
    }
    for (kind, port) in zip(kinds, ports) {
      let server = try start(
        kind, port,
        "[pipeline:main]\npipeline = \(kind)-server\n[app:\(kind)-server]\nuse = egg:swift#\(kind)\n")
      try await Loopback.ready(server, port: port)
    }
    // The object store's pieces: what a key is, its parts, its versions.
    let filters = [
      "catch_errors": "", "cache": "use = egg:swift#memcache\nmemcache_servers = 127.0.0.1:1",
      "listing_formats": "",
      "bulk": "", "s3api": "location = us-east-1",
      "tempauth": "user_\(id.replacing(":", with: "_")) = \(secret) .admin",
      "slo": "rate_limit_after_segment = 100000", "symlink": "",
      "versioned_writes": "allow_object_versioning = true", "copy": "",
    ]
    let order = [
      "catch_errors", "cache", "listing_formats", "bulk", "s3api", "tempauth", "slo", "symlink",
      "versioned_writes", "copy",
    ]
    let sections = order.map { name in
      "[filter:\(name)]\n" + (name == "cache" ? "" : "use = egg:swift#\(name)\n") + (filters[name] ?? "")
        + "\n"
    }
    return try start(
      "proxy", port,
      """
      [pipeline:main]
      pipeline = \(order.joined(separator: " ")) proxy-server
      [app:proxy-server]
      use = egg:swift#proxy
      allow_account_management = true
      account_autocreate = true
      \(sections.joined())
      """)
  }

  private static let rings = """
    import sys
    from swift.common.ring import RingBuilder
    folder = sys.argv[1]
    open(folder + '/swift.conf', 'w').write('[swift-hash]\\nswift_hash_path_prefix = a\\nswift_hash_path_suffix = b\\n')
    for kind, port in zip(('account', 'container', 'object'), sys.argv[2:]):
        builder = RingBuilder(4, 1, 0)
        place = {'ip': '127.0.0.1', 'port': int(port), 'replication_ip': '127.0.0.1', 'replication_port': int(port)}
        builder.add_dev({'id': 0, 'region': 1, 'zone': 1, 'device': 'd', 'weight': 1, 'meta': '', **place})
        builder.rebalance()
        builder.get_ring().save('%s/%s.ring.gz' % (folder, kind))
    """
}
