--- [lua luajit asan tsan] Tables of zklock ls and zklock show, which are cut to 80 columns.

local ls = require "zklock.command.ls"
local show = require "zklock.command.show"

local ENSEMBLE_TOKEN = 4294967297 -- the smallest token of an ensemble
local LARGEST_TOKEN = 9007199254740991 -- in turns, in a number of every Lua


local function contender(token, since)
    return { held = true, kind = "mutex", identity = ("h"):rep(30), session = "10003115de30000",
             token = token, since = since, language = "Lua" }
end


local function end_of(text, line)
    local _, last = line:gsub("…", "."):find(" " .. text .. "%f[ ]")
    return assert(last, line)
end


for name, text_of in pairs{
    ls = function(queue)
        local locks = {}
        for i, entry in ipairs(queue) do
            locks[i] = { path = ("/p"):rep(20), queue = { entry } }
        end
        return ls.text(locks, {})
    end,
    show = show.text,
} do
    describe("the table of zklock " .. name, function()
        it("the table shows every token whole, at the right of one column, and cuts names",
           function()
            local text = text_of{ contender(ENSEMBLE_TOKEN), contender(LARGEST_TOKEN),
                                  contender(7) }
            local lines, shown = text:gmatch "[^\n]+", { "4294967297", "9007199254740991", "7" }
            local column = end_of("TOKEN", lines())
            for _, token in ipairs(shown) do assert.equal(column, end_of(token, lines())) end
            assert.is_nil(text:find(("h"):rep(30), 1, true))
        end)

        it("the table shows an age whole", function()
            local text = text_of{ contender(ENSEMBLE_TOKEN, os.time() - 119.5 * 60) }
            assert.matches(" 119 min ", text)
        end)

        it("the table has 80 columns at most if the tokens are short", function()
            local text = text_of{ contender(999999999, os.time()) }
            assert.is_nil(text:gsub("…", "."):find(("[^\n]"):rep(81)))
        end)
    end)
end
