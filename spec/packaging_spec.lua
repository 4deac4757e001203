--- The rock holds what the tree holds.

local rig = require "spec.rig"

local function rockspec()
    local env = {}
    local chunk
    if setfenv then -- luacheck: ignore
        chunk = assert(loadfile("rockspec/zklock-scm-1.rockspec"))
        setfenv(chunk, env) -- luacheck: ignore
    else
        chunk = assert(loadfile("rockspec/zklock-scm-1.rockspec", "t", env))
    end
    chunk()
    return env
end


local function files(pattern)
    local found = {}
    for name in rig.shell("find %s | sort", pattern):gmatch("[^\n]+") do
        found[#found + 1] = name
    end
    return found
end


describe("the rockspec", function()
    local modules = rockspec().build.modules

    it("lists every Lua file of the tree under its module name", function()
        for _, path in ipairs(files("lua -name '*.lua'")) do
            local name = path:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", ".")
            assert.equal(path, modules[name])
            modules[name] = nil
        end
        modules["zklock.core"] = nil
        assert.same({}, modules)
    end)

    it("lists every C source", function()
        local sources = rockspec().build.modules["zklock.core"].sources
        table.sort(sources)
        assert.same(files("src -name '*.c'"), sources)
    end)
end)
