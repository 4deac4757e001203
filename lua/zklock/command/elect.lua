--- The verb elect runs a command while this machine leads. docs/command.md has its promises.

local run = require "zklock.command.run"

local elect = {
    summary = "Run a command while leading.",
    description = "Queues at PATH, and runs the command while it leads. When the lead is lost, the "
        .. "command is ended, and zklock queues again; when the command exits, zklock exits with "
        .. "its status. The environment is that of run, and so is the exit status, but for 75: it "
        .. "waits for ever. zklock run --help has the list.",
    example = "zklock elect --data 10.0.0.7:8080 /leaders/export ./export.sh",
    tail = "path",
    valued = {
        ["--data"] = true, ["--suspect"] = true, ["--grace"] = true, ["-c"] = true,
        ["--command"] = true,
    },
}


function elect.describe(parser)
    parser:option("--data", "What others are shown of this candidate when it leads, such as "
        .. "host:port."):argname "TEXT"
    run.describe_command(parser)
end


function elect.run(given, out, err)
    given.elects = true
    return run.run(given, out, err)
end


return elect
