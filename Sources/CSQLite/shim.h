#include <sqlite3.h>

// sqlite3_db_config is variadic, and Swift can't call it.
static inline int haul_sqlite_forbid_quoted_strings(sqlite3 *db) {
  int result = sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DDL, 0, (void *)0);
  return result == SQLITE_OK ? sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, (void *)0) : result;
}

// Before the first connection is opened; sqlite3_config is variadic as well.
static inline int haul_sqlite_count_no_memory(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

