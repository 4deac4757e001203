--- The nemesis inflicts faults (faults.lua) on clients and servers, several at once, by chance from
-- a seed. It records when each began and ended, and heals all in the end.
--
-- It draws the kinds from a deck without putting them back, so a short run sees most of them.
-- Between bursts it rests, so that all must go well for a time. world.faults may select kinds by a
-- word in their names.

local core = require "zklock.core"
local faults = require "spec.torture.faults"
local zklock = require "zklock"

local now, random = core.now, math.random

local AT_ONCE = 3
local THIN = 5 -- a deck with fewer is filled up
local BURST, STILL = 7, 4 -- seconds
local STEP = 0.05

local Nemesis = {}
Nemesis.__index = Nemesis

local nemesis = {}


function nemesis.new(world, writer)
    return setmetatable({ world = world, writer = writer, active = {}, deck = {}, count = 0 },
                        Nemesis)
end


-- --- which proxy a client uses, and how often it connected -------------------------------

local function total(counts)
    local sum = 0
    for _, count in pairs(counts) do sum = sum + count end
    return sum
end


function Nemesis:watch_places()
    for _, place in ipairs(self.world.places) do
        local connects = place.gone
        for i, proxy in ipairs(place.proxies) do
            local counts = proxy:counts()
            local sum = total(counts)
            if sum > (place.last_totals[i] or 0) then place.active = proxy end
            place.last_totals[i] = sum
            connects = connects + counts.connect
        end
        place.connects = connects
    end
end


-- --- begin and end ----------------------------------------------------------------------

local function is_wanted(kind, word)
    return kind.name:find(word, 1, true) and (word ~= "" or not kind.asked)
end


-- A kind that cannot begin now goes back into the deck. The deck is filled up before it has only
-- such kinds.
function Nemesis:deal()
    local deck = self.deck
    if #deck < THIN then
        for _, kind in ipairs(faults.kinds) do
            if is_wanted(kind, self.world.faults) then deck[#deck + 1] = kind end
        end
    end
    local kind = table.remove(deck, random(#deck))
    if not self:begin(kind) then deck[#deck + 1] = kind end
end


function Nemesis:is_busy(victim)
    for _, fault in ipairs(self.active) do
        if fault.victim == victim then return true end
    end
    return false
end


-- Returns the victim, and the place that gets busy with it; nil if it is busy already.
function Nemesis:find_victim(kind)
    local world, victim = self.world, "servers"
    if kind.whole and self:is_busy("servers") then return nil end
    if kind.needs == "place" then victim = world.places[random(#world.places)] end
    if kind.needs == "path" then victim = world.paths[random(#world.paths)] end
    if kind.needs == "holder" then victim = faults.find_holder(world) end
    local busy = victim and kind.needs == "holder" and victim.place or victim
    if busy and (kind.always or not self:is_busy(busy)) then return victim, busy end
end


local SCOPES = { server = "all", path = "path" }

function Nemesis:begin(kind)
    local victim, busy = self:find_victim(kind)
    if not victim then return false end
    self.count = self.count + 1
    local fault = { id = self.count, name = kind.name, scope = SCOPES[kind.needs] or busy.name,
                    path = kind.needs == "path" and victim or nil }
    local at = now()
    local effect = kind.begin(self.world, victim, fault)
    if effect == false then return false end
    self.writer:record("fault", nil, fault, at)
    if effect then
        table.insert(self.active, { id = self.count, victim = busy, finish = effect.finish,
                                    over = effect.over, due = at + (effect.seconds or 0) })
    else
        self.writer:record("healed", nil, { id = self.count })
    end
    return true
end


function Nemesis:heal(fault)
    if fault.finish then fault.finish() end
    self.writer:record("healed", nil, { id = fault.id })
end


function Nemesis:heal_due(all)
    local still = {}
    for _, fault in ipairs(self.active) do
        local over = all or (fault.over and fault.over()) or (not fault.over and now() >= fault.due)
        if over then self:heal(fault) else still[#still + 1] = fault end
    end
    self.active = still
end


--- Inflicts faults for `seconds`, then heals all.
function Nemesis:run(seconds)
    local begun = now()
    local next_fault = begun + 1
    while now() < begun + seconds do
        zklock.sleep(STEP)
        self:watch_places()
        self:heal_due()
        local still = (now() - begun) % (BURST + STILL) > BURST
        if now() >= next_fault and not still and #self.active < AT_ONCE then
            self:deal()
            next_fault = now() + random() * 0.6
        end
    end
    self:heal_due(true)
end


return nemesis
