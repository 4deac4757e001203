--- zklock check: does a process in the background still hold its lock?

return require("zklock.command.handle").verb("check", "Ask whether a lock is still held.",
    "Asks the process that zklock hold left in the background. That process asks a server.")
