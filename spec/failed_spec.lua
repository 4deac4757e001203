--- [lua] The commands with which a failed test tells how to run it alone.

local files = require "spec.files"
local rig = require "spec.rig"

local LUA = os.getenv "ZKLOCK_LUA" or "lua5.4"

local folder

before_each(function() folder = rig.shell("mktemp -d"):match "%S+" end)
after_each(function() rig.shell("rm -rf %s", folder) end)


-- Returns the output of a command whose `make` only runs the specs, without a server.
local function output_of(command)
    files.write(folder .. "/make", ([[
for word; do case $word in SPEC=*) specs=${word#SPEC=} ;; esac; done
eval "exec %s $(command -v busted) --helper=spec/failed.lua -o plainTerminal $specs"
]]):format(LUA))
    rig.shell("chmod +x %s/make", folder)
    return rig.shell("PATH=%s:$PATH BUILD=%s ZKLOCK_TARGET=test-lua %s 2>&1",
                     folder, folder, command)
end


local function output_of_spec(text)
    return output_of("make SPEC=" .. files.write(folder .. "/it_spec.lua", text))
end


-- Runs the n-th command in the output. Returns the names of the tests that fail.
local function run_again(output, n)
    local commands, names = {}, {}
    for command in output:gmatch "\nagain: ([^\n]*)" do commands[#commands + 1] = command end
    for name in output_of(commands[n]):gmatch "\n%u%l+ %-> [^\n]*\n([^\n]*)" do
        names[#names + 1] = name
    end
    return names
end


describe("the commands after a failed run", function()
    it("a failed test's command runs only that test, whatever its name", function()
        local output = output_of_spec [==[
            describe("here", function()
                it([[isn't "so": $HOME `id` 100% (x) ü]], function() error "" end)
                it("raises", function() error "" end)
            end)
            describe("and there", function() it("raises", function() error "" end) end)
        ]==]
        assert.same({ [[here isn't "so": $HOME `id` 100% (x) ü]] }, run_again(output, 1))
        assert.same({ "here raises" }, run_again(output, 2))
        assert.same({ "and there raises" }, run_again(output, 3))
    end)

    it("a failure outside of the tests has a command for all of its file", function()
        local command = "\nagain: make test-lua SPEC=\"" .. folder .. "/it_spec.lua\"\n"
        for _, text in ipairs{
            'before_each(function() error "" end) it("is", function() end)',
            'setup(function() error "" end) it("is", function() end)',
            'describe("it", function() error "" end)',
            "no Lua",
        } do
            assert.truthy(output_of_spec(text):find(command, 1, true), text)
        end
    end)

    it("a run without a failure has no command", function()
        assert.falsy(output_of_spec('it("is", function() end)'):find("again:", 1, true))
    end)
end)
