--- Ends the process that zklock hold left in the background: `zklock release`.

return require("zklock.command.handle").verb("release", "Give up a lock that is held.",
    "Ends the process that zklock hold left in the background, which gives the lock up.")
