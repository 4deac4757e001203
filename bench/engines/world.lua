--- A world has the servers, the processes that contend, the chosen contenders, and all figures of
-- all rounds.

local all_contenders = require "bench.engines.contenders"
local crowds = require "bench.engines.crowd"
local dkjson = require "dkjson"
local files = require "spec.files"
local rounds = require "bench.harness.rounds"
local servers = require "bench.engines.servers"

local WARM = { contenders = 8, seconds = 0.2 }

local World = {}
World.__index = World

local world = {}


-- The contenders of the named engines, or all if `names` is false.
local function contenders_of(names)
    if not names then return all_contenders end
    local wanted, list = {}, {}
    for _, name in ipairs(names) do wanted[name] = true end
    for _, contender in ipairs(all_contenders) do
        if wanted[contender.engine] then list[#list + 1] = contender end
    end
    return list
end


-- Warms compiled code, connections, tables and pages.
local function warm_up(self)
    for id in ipairs(self.contenders) do self:measure(id, WARM) end
end


--- Measures a contender once, by Crowd:run.
function World:measure(id, shape)
    local contender = self.contenders[id]
    return self.crowd:run(id, contender, shape, function()
        return self.servers:requests(contender.server)
    end)
end


--- Measures those contenders in turn, in rounds. Returns the figures of each contender's rounds.
function World:rounds(ids, shape)
    local figures = {}
    local all = rounds.run(self.options, ids, function(id) return self:measure(id, shape) end)
    for i, id in ipairs(ids) do
        figures[id] = all[i]
        self.notes[#self.notes + 1] = {
            contender = self.contenders[id].label, shape = shape, rounds = all[i],
        }
    end
    return figures
end


--- The numbers of the contenders for which fn(contender) is true.
function World:ids(fn)
    local ids = {}
    for id, contender in ipairs(self.contenders) do
        if fn(contender) then ids[#ids + 1] = id end
    end
    return ids
end


function World:write_json(path)
    files.write(path, dkjson.encode(self.notes, { indent = true }))
end


function World:stop()
    if self.crowd then self.crowd:stop() end
    self.servers:stop()
end


--- Starts the processes that contend, and the servers of their engines.
function World:start_crowd()
    if self.crowd then return end
    self.crowd = crowds.start(self.options.processes, self.servers.throwaway.folder)
    for id, contender in ipairs(self.contenders) do
        self.crowd:open(id, contender, self.servers:option(contender.server))
    end
    warm_up(self)
end


function world.new(options)
    return setmetatable({
        options = options, notes = {}, contenders = contenders_of(options.engines),
        servers = servers.new(),
    }, World)
end


return world
