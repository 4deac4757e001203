--- The verb completion prints completion code for a shell.

local ipairs, pairs, pcall = ipairs, pairs, pcall

local SHELLS = { "bash", "zsh", "fish" }

local completion = {
    summary = "Completion for bash, zsh or fish.",
    description = "Prints what the shell has to read, of this version of zklock.",
    example = 'eval "$(zklock completion bash)"',
}


function completion.describe(parser)
    parser:argument "SHELL":target "shell":choices(SHELLS)
end


-- Adds options for completion only. argparse completes arguments in zsh alone, commands everywhere.
local function add_for_completion(verbs, commands, shell)
    for name, verb in pairs(verbs) do
        if verb.describe_tail then pcall(verb.describe_tail, commands[name]) end
    end
    if shell == "zsh" then return end
    for _, name in ipairs(SHELLS) do commands.completion:command(name):add_help(false) end
end


function completion.run(given, out)
    add_for_completion(given.verbs, given.commands, given.shell)
    out:write(given.parser["get_" .. given.shell .. "_complete"](given.parser))
    return 0
end


return completion
