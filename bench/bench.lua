--- The cost of an uncontended lock, beside its three requests by libzookeeper alone, one after the
-- other (bench/bare.c).
--
--   make bench                      both networks; the server does not fsync
--   make bench FSYNC=yes            the server fsyncs, to the disk of the source tree
--   make bench BENCH="--rounds 30"  more pairs

require "bench.harness.run" {
    name = "bench", about = "acquire and release, beside bare libzookeeper",
    options = { rows = { "free" }, delays = { 0, 10 }, rounds = 15, json = false, against = false,
                no_fsync = (os.getenv("FSYNC") or "") == "" },
    rows = function(options)
        local rows = {}
        for i, delay in ipairs(options.delays) do
            rows[i] = { name = "free", label = "free", measure = "cycles", kind = "free",
                        can = "free", clients = { "zklock", "serial" }, delay = delay,
                        count = delay > 0 and 30 or 500 }
        end
        return rows
    end,
}
