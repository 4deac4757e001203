--- The games. In each the two servers run `program`, a file of this folder. `hosts` are the trees
--- of `memory:` with their locks. Separate trees are like locks inside the processes, a shared tree
--- is like an ensemble. With `ttl` the servers share a lock that ends by itself instead. With
--- `faults` servers can be stopped, and with `checks` the store checks tokens. The page shows the
--- file `code`.

local SHARED = { "zookeeper", "zookeeper" }

return {
    { name = "local", program = "purchase", hosts = { "server-1", "server-2" } },
    { name = "early", program = "early_release", hosts = SHARED, code = "early_release.lua" },
    { name = "ttl", program = "purchase", hosts = SHARED, ttl = true, code = "ttl_lock.lua" },
    { name = "zookeeper", program = "purchase", hosts = SHARED, faults = true },
    { name = "token", program = "purchase", hosts = SHARED, faults = true, checks = true,
      code = "store.lua" },
}
