--- The verb elect runs a command while this machine leads. docs/command.md has its promises.

local run = require "zklock.command.run"

local elect = {
    summary = "Run a command while leading.",
    description = "Queues at PATH, and runs the command while it leads. When the lead is lost, the "
        .. "command is ended, and zklock queues again; when the command exits, zklock exits with "
        .. "its status. Environment and exit status are those of run, but without 75, because "
        .. "elect waits for ever. zklock run --help has the list.",
    example = "zklock elect --data 10.0.0.7:8080 /leaders/export ./export.sh",
    tail = "path",
    valued = {
        ["--data"] = true, ["--suspect"] = true, ["--grace"] = true, ["-c"] = true,
        ["--command"] = true,
    },
}


function elect.describe(parser)
    parser:option("--data", "Text shown to others while this candidate leads, such as host:port.")
        :argname "TEXT"
    run.describe_command(parser)
end


function elect.run(given, out, err)
    given.elects = true
    return run.run(given, out, err)
end


return elect
