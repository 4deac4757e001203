--- zklock completion: what a shell completes.

local seckill = require "zklock.command.seckill"

local ipairs, pcall = ipairs, pcall

local SHELLS = { "bash", "zsh", "fish" }

local completion = {
    summary = "Completion for bash, zsh or fish.",
    description = "Prints what the shell has to read, of this version of zklock.",
    example = 'eval "$(zklock completion bash)"',
}


function completion.describe(parser)
    parser:argument "SHELL":target "shell":choices(SHELLS)
end


-- What the parser need not know. argparse completes an argument in zsh alone, a command in each.
-- (The laboratory cannot be loaded by every Lua.)
local function add(commands, shell)
    pcall(seckill.describe_laboratory, commands.seckill)
    if shell == "zsh" then return end
    for _, name in ipairs(SHELLS) do commands.completion:command(name):add_help(false) end
end


function completion.run(given, out)
    add(given.commands, given.shell)
    out:write(given.parser["get_" .. given.shell .. "_complete"](given.parser))
    return 0
end


return completion
