--- The contenders: each engine, on each kind of server that it can use, and the kinds of lock that
-- differ in how their waiters are served.
--
--   label    its name in tables
--   engine   its name for zklock.engine
--   server   kind of server: "sqlite", "mysql", "redis", "masters" (five of Redis), "zookeeper"
--   lock     options of its mutex

local contenders = {
    { label = "sql-table, SQLite", engine = "sql-table", server = "sqlite" },
    { label = "sql-table, MariaDB", engine = "sql-table", server = "mysql" },
    { label = "sql-pessimistic", engine = "sql-pessimistic", server = "mysql" },
    { label = "sql-optimistic, SQLite", engine = "sql-optimistic", server = "sqlite" },
    { label = "sql-optimistic, MariaDB", engine = "sql-optimistic", server = "mysql" },
    { label = "redis-timestamp", engine = "redis-timestamp", server = "redis" },
    { label = "redis-expire", engine = "redis-expire", server = "redis" },
    { label = "redis-set", engine = "redis-set", server = "redis" },
    { label = "redisson", engine = "redisson", server = "redis" },
    { label = "redisson, fair", engine = "redisson", server = "redis", lock = { fair = true } },
    { label = "redlock, 5 masters", engine = "redlock", server = "masters" },
    { label = "zookeeper", engine = "zookeeper", server = "zookeeper" },
    { label = "zookeeper, not fair", engine = "zookeeper", server = "zookeeper",
      lock = { fair = false } },
}

return contenders
