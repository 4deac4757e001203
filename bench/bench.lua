--- The cost of an uncontended lock, beside its three requests by libzookeeper alone, one after the
-- other (bench/bare.c).
--
--   make bench                      both networks; the server does not fsync
--   make bench FSYNC=yes            the server fsyncs, to the disk of the source tree
--   make bench BENCH="--rounds 30"  more pairs

require "bench.harness.run" {
    name = "bench", about = "acquire and release, beside bare libzookeeper",
    clients = { "zklock", "serial" },
    options = { rows = { "free" }, delays = { 0, 10 }, rounds = 15, json = false, against = false,
                no_fsync = (os.getenv("FSYNC") or "") == "" },
    rows = function()
        return { {
            { name = "free", measure = "cycles", kind = "free", count = 500, delayed = 30 },
        } }
    end,
}
