--- The verb check asks whether a process in the background still holds its lock.

return require("zklock.command.handle").verb("check", "Ask whether a lock is still held.",
    "Asks the process that zklock hold left in the background, and that asks a server.")
