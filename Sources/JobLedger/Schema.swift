import SQLite

/// The tables of `plan.sqlite`. A migration, once landed, is never edited: the next change is a new one.
enum Schema {
  static var migrator: Migrator {
    var migrator = Migrator()
    migrator.registerMigration("1 plan and progress") { db in try db.execute(sql: first) }
    migrator.registerMigration("2 controls") { db in try db.execute(sql: controls) }
    migrator.registerMigration("3 who wrote a file") { db in
      try db.execute(
        sql: """
          CREATE INDEX progress_inode ON progress (json_extract(destination_facts, '$.inode'))
          WHERE destination_facts IS NOT NULL
          """)
    }
    migrator.registerMigration("4 what an attempt begins with") { db in
      // Going on with a million transfers reads those that are not settled, and no others.
      try db.execute(
        sql: """
          CREATE INDEX transfer_held ON transfer (seq) WHERE state IN ('running', 'paused');
          CREATE INDEX transfer_retired ON transfer (seq) WHERE live = 0;
          """)
    }
    migrator.registerMigration("5 where part files lie") { db in try db.execute(sql: fileSystems) }
    migrator.registerMigration("6 limits, budgets, rests") { db in try db.execute(sql: limits) }
    migrator.registerMigration("7 sessions about to be opened") { db in try db.execute(sql: intents) }
    migrator.registerMigration("8 uploads that have begun") { db in
      // Each attempt looks whether their sources are what was begun with: a million that are done are not read.
      try db.execute(
        sql: """
          CREATE INDEX progress_begun ON progress (transfer) WHERE session IS NOT NULL AND completed_at IS NULL
          """)
    }
    migrator.registerMigration("9 diagnostics by cause") { db in
      try db.execute(
        sql: """
          -- How many transfers say it, and the first of them.
          ALTER TABLE diagnostic ADD COLUMN count INTEGER NOT NULL DEFAULT 1;
          ALTER TABLE diagnostic ADD COLUMN subjects TEXT NOT NULL DEFAULT '[]';
          """)
    }
    migrator.registerMigration("10 part files") { db in try db.execute(sql: partFiles) }
    migrator.registerMigration("11 hosts as the last run left them") { db in try db.execute(sql: hosts) }
    migrator.registerMigration("12 where retired sessions lie") { db in
      try db.execute(
        sql: """
          -- What was on record of a retired upload's endpoint when it was retired: its session is ended there.
          CREATE TABLE former_endpoint (
            transfer INTEGER PRIMARY KEY REFERENCES transfer (seq) ON DELETE CASCADE,
            endpoint TEXT NOT NULL CHECK (json_valid(endpoint))
          ) STRICT;
          """)
    }
    migrator.registerMigration("13 when runs are over, what moved and what left") { db in
      try db.execute(sql: ends)
    }
    migrator.registerMigration("14 when sessions were asked for") { db in
      try db.execute(sql: "ALTER TABLE session_intent ADD COLUMN asked_at REAL")
    }
    migrator.registerMigration("15 rates: hosts, and the chunks chosen by them") { db in
      try db.execute(
        sql: """
          -- Bytes per second on one connection, as measured of requests that moved enough to tell.
          CREATE TABLE host_rate (
            origin TEXT NOT NULL,
            direction TEXT NOT NULL CHECK (direction IN ('download', 'upload')),
            rate REAL NOT NULL CHECK (rate > 0),
            at REAL NOT NULL,
            PRIMARY KEY (origin, direction)
          ) STRICT, WITHOUT ROWID;
          -- What `chunk_size: auto` came to when the first chunk began.
          ALTER TABLE progress ADD COLUMN automatic_chunk INTEGER CHECK (automatic_chunk > 0);
          """)
    }
    migrator.registerMigration("16 sessions asked for more than once") { db in
      try db.execute(sql: intentsByTime)
    }
    migrator.registerMigration("17 requests at a time, as found for hosts") { db in
      try db.execute(
        sql: """
          CREATE TABLE host_concurrency (
            origin TEXT PRIMARY KEY,
            requests INTEGER NOT NULL CHECK (requests > 0),
            at REAL NOT NULL
          ) STRICT, WITHOUT ROWID;
          """)
    }
    migrator.registerMigration("18 notices") { db in try db.execute(sql: notices) }
    migrator.registerMigration("19 what a run was asked for") { db in
      try db.execute(
        sql: """
          -- Transfers that the last attempt was asked for alone: `run.scope` says how.
          CREATE TABLE selected (transfer INTEGER PRIMARY KEY REFERENCES transfer (seq) ON DELETE CASCADE) STRICT;
          """)
    }
    migrator.registerMigration("21 copies") { db in
      try db.execute(
        sql: """
          -- What the source of a copy is: the object that its bytes are read from.
          ALTER TABLE progress ADD COLUMN source_object TEXT
            CHECK (source_object IS NULL OR json_valid(source_object));
          -- Who moves them: `relay` or `service`.
          ALTER TABLE progress ADD COLUMN copied_by TEXT;
          """)
    }
    migrator.registerMigration("22 what runs came to, and when they stood still") { db in
      try db.execute(
        sql: """
          -- Counts by state and sums at the run's end; null in runs before this one.
          ALTER TABLE run ADD COLUMN totals TEXT CHECK (totals IS NULL OR json_valid(totals));
          -- When nothing moved, under a policy or to a server, and why.
          ALTER TABLE run ADD COLUMN pauses TEXT CHECK (pauses IS NULL OR json_valid(pauses));
          """)
    }
    migrator.registerMigration("23 attach requests") { db in
      try db.execute(
        sql: """
          -- The request that ties the file to its record: its key, what it came to, and what it says until it is answered.
          ALTER TABLE progress ADD COLUMN attach TEXT CHECK (attach IS NULL OR json_valid(attach));
          """)
    }
    migrator.registerMigration("24 attributes that went along") { db in
      // What was preserved, and behind a `-` what was lost: see `AttributesText`.
      try db.execute(sql: "ALTER TABLE progress ADD COLUMN attributes TEXT")
    }
    migrator.registerMigration("25 places in the plan of the whole job") { db in
      // Null unless the plan is one part's.
      try db.execute(sql: "ALTER TABLE transfer ADD COLUMN ordinal INTEGER CHECK (ordinal > 0)")
    }
    migrator.registerMigration("26 listings that are under way") { db in try db.execute(sql: listings) }
    migrator.registerMigration("27 rows of files as they were compiled") { db in
      // See `RowMarkWriter`.
      try db.execute(
        sql: "CREATE TABLE row_mark (number INTEGER PRIMARY KEY, marks BLOB NOT NULL) STRICT")
    }
    migrator.registerMigration("28 files of downloads that left") { db in
      try db.execute(sql: WrittenFile.table)
    }
    migrator.registerMigration("29 when rests were asked for") { db in
      // Null in those of before.
      try db.execute(sql: "ALTER TABLE rest ADD COLUMN asked_at REAL")
    }
    migrator.registerMigration("30 links that listings name") { db in
      // Null for files: see `NonFile`.
      try db.execute(sql: "ALTER TABLE listed_name ADD COLUMN non_file TEXT")
    }
    return migrator
  }

  private static let listings = """
    -- What a remote prefix was found to have so far, for a plan that is not compiled yet.
    CREATE TABLE listing (
      number INTEGER PRIMARY KEY,
      -- A digest of the store and the prefix.
      "key" TEXT NOT NULL UNIQUE,
      updated_at REAL NOT NULL
    ) STRICT;
    -- Names may hold any byte: they are blobs.
    CREATE TABLE listing_part (
      listing INTEGER NOT NULL REFERENCES listing (number) ON DELETE CASCADE,
      prefix BLOB NOT NULL,
      position BLOB,
      is_done INTEGER NOT NULL,
      PRIMARY KEY (listing, prefix)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE listed_name (
      listing INTEGER NOT NULL REFERENCES listing (number) ON DELETE CASCADE,
      path BLOB NOT NULL,
      size INTEGER,
      modified REAL,
      PRIMARY KEY (listing, path)
    ) STRICT, WITHOUT ROWID;
    """

  private static let notices = """
    -- What is to be told of a run's events. Written with the event; sent until it is delivered.
    CREATE TABLE notice (
      number INTEGER PRIMARY KEY,
      "key" TEXT NOT NULL UNIQUE,
      -- Null where the run never began.
      run INTEGER REFERENCES run (number) ON DELETE CASCADE,
      event TEXT NOT NULL,
      kind TEXT NOT NULL,
      -- Masked.
      target TEXT NOT NULL,
      -- What is sent, secrets as references; empty once it is settled.
      request TEXT NOT NULL CHECK (json_valid(request)),
      state TEXT NOT NULL DEFAULT 'owed' CHECK (state IN ('owed', 'delivered', 'failed')),
      tries INTEGER NOT NULL DEFAULT 0,
      error TEXT,
      owed_at REAL NOT NULL,
      settled_at REAL
    ) STRICT;
    CREATE INDEX notice_owed ON notice (number) WHERE state = 'owed';
    CREATE INDEX notice_run ON notice (run);
    """

  private static let partFiles = """
    -- The key that the tags of part files are made from: who does not know it can't guess their names.
    INSERT INTO meta VALUES ('part_key', lower(hex(randomblob(32))));

    -- Part files that hold recorded chunks. Inode numbers are 64 bits, kept as signed ones.
    CREATE TABLE part_file (
      transfer INTEGER PRIMARY KEY REFERENCES transfer (seq) ON DELETE CASCADE,
      tag TEXT NOT NULL,
      inode INTEGER NOT NULL,
      folder INTEGER NOT NULL,
      owner INTEGER NOT NULL
    ) STRICT;
    """

  private static let hosts = """
    -- Hosts that were not asked as freely as the policies let, for a run that follows soon.
    CREATE TABLE host (
      origin TEXT PRIMARY KEY,
      openings INTEGER NOT NULL,
      given_up INTEGER NOT NULL CHECK (given_up IN (0, 1)),
      "window" REAL,
      at REAL NOT NULL
    ) STRICT, WITHOUT ROWID;
    """

  private static let ends = """
    -- 1: each transfer has had its turn, and the next run is a new one. 0: it goes on, or was stopped.
    ALTER TABLE run ADD COLUMN is_over INTEGER NOT NULL DEFAULT 0 CHECK (is_over = 0 OR is_over = 1);
    -- The `--only` glob that the run began with.
    ALTER TABLE run ADD COLUMN selection TEXT;
    -- Ids that left the manifest: how many, and the first of them.
    ALTER TABLE run ADD COLUMN left_manifest TEXT CHECK (left_manifest IS NULL OR json_valid(left_manifest));
    -- When the transfer came into the plan; null where an older haul put it there.
    ALTER TABLE transfer ADD COLUMN created_at REAL;
    -- Why it was moved in this run.
    ALTER TABLE progress ADD COLUMN moved_because TEXT;
    UPDATE run SET is_over = 1 WHERE number < (SELECT max(number) FROM run)
      OR outcome IS NOT NULL AND (outcome != 'incomplete' OR NOT EXISTS (
        SELECT 1 FROM transfer WHERE live = 1 AND (state = 'running' OR state = 'queued' AND reason IS NULL
          OR state = 'paused' AND reason NOT IN ('retries', 'user'))));
    """

  private static let controls = """
    -- What another terminal asks of a running job; applied within a second, in order.
    CREATE TABLE control (
      number INTEGER PRIMARY KEY,
      verb TEXT NOT NULL CHECK (verb IN ('pause', 'resume', 'cancel', 'retry')),
      -- A JSON array of ids and globs of ids; empty means all.
      ids TEXT NOT NULL CHECK (json_valid(ids)),
      from_scratch INTEGER NOT NULL DEFAULT 0 CHECK (from_scratch IN (0, 1)),
      requested_at REAL NOT NULL,
      applied_at REAL,
      changed INTEGER
    ) STRICT;
    """

  private static let fileSystems = """
    -- Downloads whose part file is on another file system than the job's folder; ids as statvfs(3) has them.
    CREATE TABLE file_systems (
      transfer INTEGER PRIMARY KEY REFERENCES transfer (seq) ON DELETE CASCADE,
      home INTEGER NOT NULL,
      away INTEGER NOT NULL
    ) STRICT;
    """

  private static let limits = """
    -- SQLite can't change a check: the table is made anew, with what waits in it.
    ALTER TABLE control RENAME TO old_control;
    CREATE TABLE control (
      number INTEGER PRIMARY KEY,
      -- `limit` says that the job's limit (in meta) is another one.
      verb TEXT NOT NULL CHECK (verb IN ('pause', 'resume', 'cancel', 'retry', 'limit')),
      ids TEXT NOT NULL CHECK (json_valid(ids)),
      from_scratch INTEGER NOT NULL DEFAULT 0 CHECK (from_scratch IN (0, 1)),
      requested_at REAL NOT NULL,
      applied_at REAL,
      changed INTEGER
    ) STRICT;
    INSERT INTO control SELECT * FROM old_control;
    DROP TABLE old_control;

    -- Bytes that moved under a policy with a budget, by period.
    CREATE TABLE spending (
      policy TEXT NOT NULL,
      period TEXT NOT NULL,
      bytes INTEGER NOT NULL,
      PRIMARY KEY (policy, period)
    ) STRICT, WITHOUT ROWID;

    -- Servers that asked not to be asked again before a moment.
    CREATE TABLE rest (
      origin TEXT PRIMARY KEY NOT NULL,
      until REAL NOT NULL
    ) STRICT, WITHOUT ROWID;
    """

  private static let intents = """
    -- Sessions that a server was asked for and that are not on record: found again by their key.
    CREATE TABLE session_intent (
      transfer INTEGER PRIMARY KEY REFERENCES transfer (seq) ON DELETE CASCADE,
      "key" TEXT NOT NULL,
      size INTEGER NOT NULL CHECK (size >= 0),
      content_type TEXT NOT NULL,
      chunk_size INTEGER NOT NULL CHECK (chunk_size > 0)
    ) STRICT;
    """

  private static let intentsByTime = """
    -- SQLite can't change a key: the table is made anew. Times are 0 where the key finds the session.
    ALTER TABLE session_intent RENAME TO old_intent;
    CREATE TABLE session_intent (
      transfer INTEGER NOT NULL REFERENCES transfer (seq) ON DELETE CASCADE,
      asked_at REAL NOT NULL,
      last_asked_at REAL NOT NULL,
      "key" TEXT NOT NULL,
      size INTEGER NOT NULL CHECK (size >= 0),
      content_type TEXT NOT NULL,
      chunk_size INTEGER NOT NULL CHECK (chunk_size > 0),
      PRIMARY KEY (transfer, asked_at)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO session_intent
    SELECT transfer, coalesce(asked_at, 0), coalesce(asked_at, 0), "key", size, content_type, chunk_size
    FROM old_intent;
    DROP TABLE old_intent;
    """

  private static let first = """
    CREATE TABLE meta (
      name TEXT PRIMARY KEY NOT NULL,
      value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- What many transfers say alike: direction, policy, checks. JSON, one row a distinct value.
    CREATE TABLE profile (
      id INTEGER PRIMARY KEY,
      settings TEXT NOT NULL UNIQUE CHECK (json_valid(settings))
    ) STRICT;

    CREATE TABLE transfer (
      seq INTEGER PRIMARY KEY,
      id TEXT NOT NULL,
      -- Digest of what progress belongs to: source, destination, endpoint.
      identity BLOB NOT NULL CHECK (length(identity) = 8),
      profile INTEGER NOT NULL REFERENCES profile (id),
      source TEXT NOT NULL,
      destination TEXT NOT NULL,
      takes_source_name INTEGER NOT NULL DEFAULT 0 CHECK (takes_source_name IN (0, 1)),
      expect TEXT CHECK (expect IS NULL OR json_valid(expect)),
      known_size INTEGER CHECK (known_size >= 0),
      -- 0: the manifest says it no longer; kept until the next run has ended its session.
      live INTEGER NOT NULL DEFAULT 1 CHECK (live IN (0, 1)),
      -- Not `IN`: SQLite builds a table for a list, at every change of a row.
      state TEXT NOT NULL DEFAULT 'queued' CHECK (
        state = 'completed' OR state = 'running' OR state = 'queued' OR state = 'paused' OR state = 'up_to_date'
        OR state = 'failed' OR state = 'canceled' OR state = 'skipped'),
      reason TEXT,
      -- Changed in this run: what a report of a very long plan lists.
      touched INTEGER NOT NULL DEFAULT 0
    ) STRICT;

    CREATE TABLE progress (
      transfer INTEGER PRIMARY KEY REFERENCES transfer (seq) ON DELETE CASCADE,
      size INTEGER CHECK (size >= 0),
      chunk_size INTEGER CHECK (chunk_size > 0),
      remote TEXT CHECK (remote IS NULL OR json_valid(remote)),
      session TEXT CHECK (session IS NULL OR json_valid(session)),
      session_state TEXT NOT NULL CHECK (
        session_state = 'none' OR session_state = 'open' OR session_state = 'finalizing' OR session_state = 'closed'),
      remote_id TEXT,
      resolved_destination TEXT,
      source_facts TEXT CHECK (source_facts IS NULL OR json_valid(source_facts)),
      destination_facts TEXT CHECK (destination_facts IS NULL OR json_valid(destination_facts)),
      digests TEXT CHECK (digests IS NULL OR json_valid(digests)),
      verification TEXT CHECK (verification IS NULL OR json_valid(verification)),
      chunks_total INTEGER NOT NULL,
      chunks_completed INTEGER NOT NULL,
      chunks_reused INTEGER NOT NULL,
      contiguous_bytes INTEGER NOT NULL,
      transferred INTEGER NOT NULL,
      reused INTEGER NOT NULL,
      discarded INTEGER NOT NULL,
      requests INTEGER NOT NULL,
      retries INTEGER NOT NULL,
      attempts INTEGER NOT NULL,
      max_chunk_attempts INTEGER NOT NULL,
      last_http_status INTEGER,
      started_at REAL,
      ended_at REAL,
      updated_at REAL,
      duration REAL NOT NULL,
      failure TEXT CHECK (failure IS NULL OR json_valid(failure)),
      failed_at REAL,
      fresh_starts INTEGER NOT NULL,
      intended_inode INTEGER,
      completed_at REAL,
      synced INTEGER NOT NULL CHECK (synced IN (0, 1)),
      boot_id TEXT
    ) STRICT;

    CREATE TABLE chunk (
      transfer INTEGER NOT NULL REFERENCES transfer (seq) ON DELETE CASCADE,
      "offset" INTEGER NOT NULL CHECK ("offset" >= 0),
      length INTEGER NOT NULL CHECK (length >= 0),
      digest TEXT NOT NULL,
      receipt TEXT,
      attempts INTEGER NOT NULL,
      PRIMARY KEY (transfer, "offset")
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE run (
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      started_at REAL NOT NULL,
      ended_at REAL,
      outcome TEXT CHECK (outcome IN ('completed', 'failed', 'incomplete', 'canceled', 'invalid', 'refused')),
      exit_code INTEGER,
      overrides TEXT NOT NULL CHECK (json_valid(overrides)),
      scope TEXT,
      events INTEGER NOT NULL DEFAULT 0
    ) STRICT;

    CREATE TABLE attempt (
      run INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
      number INTEGER NOT NULL,
      started_at REAL NOT NULL,
      ended_at REAL,
      exit_code INTEGER,
      bytes_transferred INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (run, number)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE diagnostic (
      number INTEGER PRIMARY KEY,
      run INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
      severity TEXT NOT NULL,
      message TEXT NOT NULL,
      place TEXT,
      hint TEXT
    ) STRICT;
    """

  /// Made after a first load: an index that grows row by row costs four times as much.
  static let indexes = """
    CREATE UNIQUE INDEX IF NOT EXISTS transfer_id ON transfer (id, identity);
    CREATE INDEX IF NOT EXISTS transfer_waiting ON transfer (seq) WHERE state = 'queued' AND live = 1;
    CREATE INDEX IF NOT EXISTS transfer_unsynced ON progress (transfer) WHERE synced = 0 AND boot_id IS NOT NULL;
    CREATE INDEX IF NOT EXISTS progress_intended ON progress (intended_inode)
      WHERE completed_at IS NULL AND intended_inode IS NOT NULL;
    """
}
