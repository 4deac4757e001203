--- zklock completion: what a shell completes.

local completion = {
    summary = "Completion for bash, zsh or fish.",
    description = "Prints what the shell has to read, of this version of zklock.",
    example = 'eval "$(zklock completion bash)"',
}


function completion.describe(parser)
    parser:argument "shell":argname "SHELL":choices{ "bash", "zsh", "fish" }
end


function completion.run(given, out)
    out:write(given.parser["get_" .. given.shell .. "_complete"](given.parser))
    return 0
end


return completion
