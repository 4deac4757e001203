--- The games. In each the two servers run `program`, a file of this folder. Their locks are in a
--- tree of `memory:` for each server, as a lock inside the process, or in a shared tree, as in an
--- ensemble; or they share a lock that ends by itself (`ttl`). Servers can be stopped (`faults`),
--- and the store can check tokens. The page shows the file `code`.

local SHARED = { "zookeeper", "zookeeper" }

return {
    { name = "local", program = "purchase", hosts = { "server-1", "server-2" } },
    { name = "early", program = "early_release", hosts = SHARED, code = "early_release.lua" },
    { name = "ttl", program = "purchase", hosts = SHARED, ttl = true, code = "ttl_lock.lua" },
    { name = "zookeeper", program = "purchase", hosts = SHARED, faults = true },
    { name = "token", program = "purchase", hosts = SHARED, faults = true, checks = true,
      code = "store.lua" },
}
