--- The games: in which tree of `memory:` each of the two servers has its lock, whether processes
--- can be stopped, and whether the store checks tokens. All run the same program. A tree of its own
--- is a lock inside the process; a shared one stands for the ensemble.

return {
    { name = "local", hosts = { "server-1", "server-2" }, faults = false, checks = false },
    { name = "zookeeper", hosts = { "zookeeper", "zookeeper" }, faults = true, checks = false },
    { name = "token", hosts = { "zookeeper", "zookeeper" }, faults = true, checks = true },
}
