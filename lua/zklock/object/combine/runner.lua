--- A runner is a coroutine that takes the lock while entries wait, and carries out one batch in
-- each hold.

local carry_out = require "zklock.object.combine.batch"
local current_task = require "zklock.waiting.nginx_task"
local owners = require "zklock.waiting.owner"
local scope = require "zklock.waiting.scope"
local wait = require "zklock.waiting.wait"

local ipairs, setmetatable = ipairs, setmetatable
local running = coroutine.running

---@class zklock.Runner
---@field combiner zklock.Combiner refers weakly to the runner, which goes with its coroutine
---@field taken zklock.Entry[] of the latest batch
---@field waiting_key? string the runner's owner key while it waits for the lock
---@field unneeded? boolean its wait was ended because no entry was left
---@field begun? boolean it was started; an interrupt may prevent that
---@field thread? thread|"main"
---@field task? zklock.Task
---@field is_gone? fun(): boolean true when its coroutine will not be resumed any more
local Runner = {}
Runner.__index = Runner


local ALONE = { is_alone = true }

-- After an error, entries that wait for this runner would wait in vain.
function Runner:close()
    local combiner = self.combiner
    for _, entry in ipairs(self.taken) do entry:interrupt() end
    if combiner.weak.runner ~= self then return end
    combiner.weak.runner = nil
    combiner.queue:refuse(ALONE)
end

Runner.__close = Runner.close


--- Ends the wait for the lock. The runner then looks for entries again.
function Runner:stop_waiting()
    if not self.waiting_key then return end
    self.unneeded = true
    self.combiner.lock.session:interrupt_key(self.waiting_key)
end


local function carry_out_batch(self, lease)
    local combiner, entries = self.combiner, {}
    self.taken = entries
    local items = combiner.queue:take(combiner.most, entries)
    if #entries == 0 then return end
    local results, answer = carry_out(combiner.fn, combiner.inside, lease, items)
    for i, entry in ipairs(entries) do entry:settle(answer or { value = results[i] }) end
end


local function work(self)
    local combiner = self.combiner
    self.begun, self.thread, self.task = true, running() or "main", current_task()
    while combiner.weak.runner == self and combiner.queue:first() do
        self.waiting_key = owners.key()
        local lease, message, code = combiner.lock:acquire{
            max_waiters = combiner.max_waiters, max_hold = combiner.max_hold,
        }
        self.waiting_key = nil
        if lease then
            scope(lease, carry_out_batch, self, lease)
        elseif not self.unneeded then
            combiner.queue:refuse{ message = message, code = code }
        end
        self.unneeded = nil
    end
end


local _M = {}


--- The combiner's runner, if it has begun and can go on.
---@param combiner zklock.Combiner
---@return zklock.Runner?
function _M.of(combiner)
    local self = combiner.weak.runner
    if self and self.begun and not (self.is_gone and self.is_gone()) then return self end
end


--- False if nothing can run beside the caller.
---@param combiner zklock.Combiner
---@return boolean
function _M.start(combiner)
    local self = setmetatable({ combiner = combiner, taken = {} }, Runner)
    combiner.weak.runner = self
    self.begun, self.is_gone = wait.spawn(combiner.lock.session,
        function() scope(self, work, self) end, function() self:close() end)
    return self.begun
end


return _M
