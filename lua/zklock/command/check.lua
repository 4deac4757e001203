--- Asks whether a process in the background still holds its lock: `zklock check`.

return require("zklock.command.handle").verb("check", "Ask whether a lock is still held.",
    "Asks the process that zklock hold left in the background. That process asks a server.")
