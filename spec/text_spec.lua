--- [lua luajit asan tsan] Users' texts are written into Prometheus' text, JSON, CSV, HTML, names
-- and data of nodes, and lines of logs and terminals. The call that takes a text refuses it, with
-- the rule, if one of these formats cannot hold it. Bytes of other programs are shown.

local dkjson = require "dkjson"
local encode = require "zklock.command.json"
local files = require "spec.files"
local misuse = require "zklock.value.misuse"
local rig = require "spec.rig"
local utf8 = require "zklock.value.utf8"
local zklock = require "zklock"

local FOREIGN = { gbk = "\191\226\180\230", byte = "\255", surrogate = "\237\160\128",
                  cut = "a\228\184", long = "\192\128" }
local CONTROL = { ["NUL"] = "a\0b", newline = "a\nb", escape = "\27[2J", DEL = "a\127" }
local ALLOWED = "a \"quoted\" \\ {x=\"y\"} <b>& %s \226\128\168 \240\159\142\129"

local session, lock

-- The calls that take texts, by the names of the texts.
local calls = {
    ["the name in the metrics"] = function(text) session:mutex("/a", { metrics = text }) end,
    ["the name of a read-write lock"] = function(text) session:rwlock("/a", { metrics = text }) end,
    ["the name of a semaphore"] = function(text)
        session:semaphore("/a", 1, { metrics = text })
    end,
    ["the name of locked"] = function(text)
        session:locked("/a", 1, print, { metrics = text })
    end,
    ["a label"] = function(text) zklock.metrics{ shop = text } end,
    ["the identity"] = function(text)
        assert(zklock.connect("memory:texts", { identity = text })):close()
    end,
    ["the name of a member"] = function(text) session:join("/a", { name = text }) end,
    ["a lock path"] = function(text) session:mutex("/" .. text) end,
    ["a folder"] = function(text) session:members("/" .. text, function() end) end,
    ["a condition's name"] = function(text) lock:condition(text) end,
    ["the name of a process"] = function(text)
        local world = zklock.world(function(world) world:process(text, print) end)
        if world.problem then error(world.problem, 0) end
    end,
}


describe("a text of the user #failures", function()
    setup(function()
        session = rig.session "memory:texts"
        lock = session:mutex "/locks/a"
    end)
    teardown(rig.close_sessions)

    local function check_refused(call, text, why)
        local ok, message = pcall(call, text)
        assert.is_false(ok)
        assert.matches(why, message)
        assert.is_true(utf8.is_valid(message), message)
        assert.is_nil(message:find("%c"), message)
    end

    for name, call in pairs(calls) do
        for what, text in pairs(FOREIGN) do
            it(("a text without UTF-8 is refused as %s: %s"):format(name, what), function()
                check_refused(call, text, "must be UTF%-8")
            end)
        end
        for what, text in pairs(CONTROL) do
            it(("a text is refused as %s with %s"):format(name, what), function()
                check_refused(call, text, "must not contain .*control characters")
            end)
        end
    end

    it("a host without UTF-8 is refused", function()
        for _, text in pairs(FOREIGN) do
            check_refused(zklock.connect, text .. ":2181", "is not UTF%-8")
        end
    end)

    it("all other characters are allowed", function()
        for name, call in pairs(calls) do
            local in_path = name:find "path" or name:find "folder" or name:find "member"
                or name:find "condition"
            local text = in_path and ALLOWED:gsub("\240.*", "") or ALLOWED
            local ok, message = pcall(call, text)
            assert.is_true(ok, name .. ": " .. tostring(message))
        end
    end)
end)


describe("metrics with all allowed names and labels #zklock.metrics", function()
    it("promtool accepts the metrics #promtool", function()
        local own = rig.session "memory:texts"
        rig.use(own:mutex("/named", { metrics = ALLOWED }))
        local file = os.tmpname()
        files.write(file, zklock.metrics{ shop = ALLOWED })
        assert.equal("fine\n", rig.shell("promtool check metrics <%s 2>&1 && echo fine", file))
        os.remove(file)
        rig.close_sessions()
    end)
end)


describe("bytes of other programs", function()
    it("JSON shows the bytes as UTF-8 in one line", function()
        local texts = { ALLOWED }
        for _, list in ipairs{ FOREIGN, CONTROL } do
            for _, text in pairs(list) do texts[#texts + 1] = "<" .. text .. ">" end
        end
        local text = encode{ list = texts, [FOREIGN.gbk] = 1 }
        assert.is_true(utf8.is_valid(text))
        assert.is_nil(text:find("[%c\127]"))
        local read = assert(dkjson.decode(text))
        for i, each in ipairs(texts) do assert.equal(utf8.clean(each), read.list[i]) end
    end)

    it("a message of misuse shows the bytes as Lua would, in one line", function()
        local read = loadstring or load -- luacheck: ignore
        for _, text in ipairs{ "a\nb\0\27\255", "\228\184", "\228\184\150" } do
            local shown = misuse.show(text)
            assert.is_true(utf8.is_valid(shown))
            assert.is_nil(shown:find "%c")
            assert.equal(text, read("return " .. shown)())
        end
        assert.equal('"\228\184\150"', misuse.show "\228\184\150")
    end)
end)
