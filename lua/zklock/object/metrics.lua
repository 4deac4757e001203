--- The counters of all sessions of the process, in Prometheus' text format. docs/monitoring.md
-- lists them.

local number_text = require "zklock.value.number_text"
local options = require "zklock.value.options"
local runtime = require "zklock.waiting.runtime"
local sorted_names = require "zklock.value.sorted_names"

local concat = table.concat
local format = string.format
local ipairs, pairs, setmetatable, type = ipairs, pairs, setmetatable, type

---@class zklock.Stats
---@field creates integer
---@field sets integer
---@field deletes integer
---@field lists integer
---@field gets integer
---@field exists integer
---@field syncs integer
---@field grants integer
---@field losses integer
---@field waits integer
---@field timeouts integer
---@field reconnects integer
---@field expiries integer
---@field orphans integer nodes left behind by lost replies, and removed
---@field events integer
---@field in_flight integer
---@field claims integer own holders, kept nodes and waiters, until they are gone
---@field watches integer
---@field watch_removals integer
---@field watch_bytes integer
---@field watch_bytes_limit integer
---@field containers boolean missing parents are made as containers
---@field path_bytes integer
---@field callback_errors integer
---@field callback_error? any
---@field callbacks_pending integer callbacks that have not begun, in nginx
---@field untold_events integer
---@field recovered integer sessions of dead processes that were ended
---@field recover_error? string
---@field wait zklock.Times from an acquire to its grant
---@field hold zklock.Times from a grant to its end
---@field hand_over zklock.Times from the end of the previous hold to the grant
---@field round_trip zklock.Times from a request to its answer
---@field outcomes table<string, integer> of acquires: "granted", "reentered", codes
---@field locks table<string, zklock.NamedStats> by their option `metrics`

---@class zklock.Times
---@field count integer
---@field sum number seconds
---@field max number seconds
---@field p50 number seconds, within 5 %
---@field p90 number
---@field p99 number
---@field buckets { le: number, count: integer }[]

---@class zklock.NamedStats
---@field wait zklock.Times
---@field hold zklock.Times
---@field hand_over zklock.Times
---@field outcomes table<string, integer>

local REQUESTS = { create = "creates", set = "sets", delete = "deletes", list = "lists",
                   get = "gets", exists = "exists", sync = "syncs", unwatch = "watch_removals" }

-- Outcomes shown from the start, for Prometheus needs a value to see an increase.
local USUAL = { "granted", "reentered", "busy", "timeout", "expired", "interrupted", "closed",
                "too_many" }

-- Name, type, field of stats(), HELP text.
local PLAIN = {
    { "losses_total", "counter", "losses", "Leases lost before their release." },
    { "reconnects_total", "counter", "reconnects", "Reconnections." },
    { "expiries_total", "counter", "expiries", "ZooKeeper sessions that expired." },
    { "orphans_total", "counter", "orphans", "Late nodes found and removed." },
    { "watch_events_total", "counter", "events", "Watch events received." },
    { "callback_errors_total", "counter", "callback_errors", "Errors raised by callbacks." },
    { "untold_events_total", "counter", "untold_events", "Events dropped before on_event." },
    { "callbacks_pending", "gauge", "callbacks_pending", "Callbacks that have not begun." },
    { "requests_in_flight", "gauge", "in_flight", "Requests without an answer yet." },
    { "claims", "gauge", "claims", "Contenders of this process, waiting or holding." },
    { "watches", "gauge", "watches", "Node watches." },
    { "watch_bytes", "gauge", "watch_bytes", "Bytes of the paths of watched nodes of others." },
    { "path_bytes", "gauge", "path_bytes", "Bytes of the paths of own nodes." },
}

-- Name, field of stats(), HELP text.
local TIMES = {
    { "wait_seconds", "wait", "From an acquire to its grant." },
    { "hold_seconds", "hold", "From a grant to its release or loss." },
    { "hand_over_seconds", "hand_over",
      "From the known end of the previous hold to the grant." },
}


-- --- lines -----------------------------------------------------------------------------

local function quote(value)
    return '"' .. value:gsub('[\\"\n]', { ["\\"] = "\\\\", ['"'] = '\\"', ["\n"] = "\\n" }) .. '"'
end


---@class zklock.MetricsText
---@field lines string[]
---@field labels string of every sample; "" or with a comma at the end
local Text = {}
Text.__index = Text


function Text:family(name, kind, help)
    local lines = self.lines
    lines[#lines + 1] = format("# HELP zklock_%s %s", name, help)
    lines[#lines + 1] = format("# TYPE zklock_%s %s", name, kind)
end


-- `labels` has no comma at its end, or is nil.
function Text:sample(name, labels, value)
    local all = self.labels .. (labels or "")
    all = all:gsub(",$", "")
    if all ~= "" then all = "{" .. all .. "}" end
    self.lines[#self.lines + 1] = format("zklock_%s%s %s", name, all, number_text("%.17g", value))
end


function Text:histogram(name, labels, histogram)
    local before = labels and labels .. "," or ""
    for _, bucket in ipairs(histogram.buckets) do
        self:sample(name .. "_bucket", format('%sle="%s"', before, number_text("%.10g", bucket.le)),
                    bucket.count)
    end
    self:sample(name .. "_bucket", before .. 'le="+Inf"', histogram.count)
    self:sample(name .. "_sum", labels, histogram.sum)
    self:sample(name .. "_count", labels, histogram.count)
end


-- --- families --------------------------------------------------------------------------

local function add_outcomes(text, name, labels, outcomes)
    local counts = {}
    for _, outcome in ipairs(USUAL) do counts[outcome] = 0 end
    for outcome, count in pairs(outcomes) do counts[outcome] = count end
    for _, outcome in ipairs(sorted_names(counts)) do
        text:sample(name, format('%soutcome="%s"', labels, outcome), counts[outcome])
    end
end


local function add_sessions(text, totals)
    text:family("sessions", "gauge", "Sessions by the state of their connection.")
    for _, state in ipairs(sorted_names(totals.sessions)) do
        text:sample("sessions", format('state="%s"', state), totals.sessions[state])
    end
    text:family("requests_total", "counter", "Requests sent to ZooKeeper.")
    for _, kind in ipairs(sorted_names(REQUESTS)) do
        text:sample("requests_total", format('type="%s"', kind), totals[REQUESTS[kind]])
    end
    for _, each in ipairs(PLAIN) do
        local name, kind, field, help = each[1], each[2], each[3], each[4]
        text:family(name, kind, help)
        text:sample(name, nil, totals[field])
    end
    text:family("round_trip_seconds", "histogram", "From a request to ZooKeeper to its answer.")
    text:histogram("round_trip_seconds", nil, totals.round_trip)
end


local function add_acquires(text, totals)
    text:family("acquires_total", "counter", "Acquires by outcome.")
    add_outcomes(text, "acquires_total", "", totals.outcomes)
    for _, each in ipairs(TIMES) do
        local name, field, help = each[1], each[2], each[3]
        text:family(name, "histogram", help)
        text:histogram(name, nil, totals[field])
    end
end


-- Named locks have families of their own, so that sums count nothing twice.
local function add_named(text, locks)
    local names, label = sorted_names(locks), {}
    for _, lock in ipairs(names) do label[lock] = "lock=" .. quote(lock) end
    text:family("lock_acquires_total", "counter", "Acquires of named locks by outcome.")
    for _, lock in ipairs(names) do
        add_outcomes(text, "lock_acquires_total", label[lock] .. ",", locks[lock].outcomes)
    end
    for _, each in ipairs(TIMES) do
        local name, field, help = "lock_" .. each[1], each[2], each[3]
        text:family(name, "histogram", help .. " Named locks only.")
        for _, lock in ipairs(names) do text:histogram(name, label[lock], locks[lock][field]) end
    end
end


local function labels_of(given)
    local labels = {}
    for _, name in ipairs(sorted_names(given)) do
        local value = given[name]
        if type(value) == "number" then value = number_text("%.14g", value) end
        labels[#labels + 1] = format("%s=%s,", name, quote(value))
    end
    return concat(labels)
end


-- Counted for all sessions of this Lua state; C counts the other events.
local callback_errors, untold_events = 0, 0

local _M = {}


function _M.count_callback_error()
    callback_errors = callback_errors + 1
end


function _M.count_untold_event()
    untold_events = untold_events + 1
end


---@param labels? table<string, string|number> of every sample
---@return string
function _M.text(labels)
    local text = setmetatable({ lines = {}, labels = labels_of(options.labels(labels)) }, Text)
    local totals, pending = runtime.current():totals()
    totals.callback_errors = callback_errors
    totals.callbacks_pending = pending
    totals.untold_events = totals.untold_events + untold_events
    add_sessions(text, totals)
    add_acquires(text, totals)
    add_named(text, totals.locks)
    text.lines[#text.lines + 1] = ""
    return concat(text.lines, "\n")
end


return _M
