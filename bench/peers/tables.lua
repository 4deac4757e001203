--- The tables, as docs/performance.md has them. Ratios first: the time of a peer / the time of
-- zklock on Lua 5.4, of each round by itself, its median (least to most).

local clients = require "bench.contended.clients"
local markdown = require "bench.markdown"
local rounds = require "bench.contended.rounds"

local number, range = markdown.number, markdown.range

local BASE = "zklock"


-- A table of a line for each of the results, a column for each client: cell(figures, base, row)
-- makes a text of its figures, if it has some.
local function print_grid(title, results, names, cell)
    local head, lines, missing = { title }, {}, {}
    for i, name in ipairs(names) do
        head[i + 1] = clients[name].label
        missing[name] = clients[name].missing() and "missing"
    end
    for i, result in ipairs(results) do
        lines[i] = { result.row.label }
        for _, name in ipairs(names) do
            local figures = result.figures[name]
            table.insert(lines[i], figures and cell(figures, result.figures[BASE], result.row)
                         or missing[name] or "—")
        end
    end
    markdown.table(head, lines)
end


local function peers(names)
    local list = {}
    for _, name in ipairs(names) do if name ~= BASE then list[#list + 1] = name end end
    return list
end


local function of_parts(results, ...)
    local wanted, list = {}, {}
    for _, part in ipairs{ ... } do wanted[part] = true end
    for _, result in ipairs(results) do
        if wanted[result.part] then list[#list + 1] = result end
    end
    return list
end


local function ratio_of(figures, base) return range(rounds.ratio(figures, base)) end


local function median_of(figures) return number((rounds.middle(figures, "ms"))) end


local function print_times(results, names)
    if not results[1] then return end
    print_grid("time / zklock's", results, peers(names), ratio_of)
    print_grid("ms", results, names, median_of)
end


-- The mean of all rounds: the clock of a process has coarse ticks.
local function mean(figures, name)
    local sum = 0
    for _, each in ipairs(figures) do sum = sum + each[name] end
    return number(sum / #figures)
end


local function print_cpu(results, names)
    if not results[1] then return end
    print_grid("CPU µs a cycle, client + server", results, names, function(figures)
        return ("%s + %s"):format(mean(figures, "cpu"), mean(figures, "server_cpu"))
    end)
end


-- A result for each unit, with its figures under the name that ratios are made of.
local function by_unit(result)
    local list = {}
    for i, unit in ipairs(result.row.units) do
        local figures = {}
        for name, each in pairs(result.figures) do
            figures[name] = {}
            for round, values in ipairs(each) do figures[name][round] = { ms = values[unit] } end
        end
        list[i] = { row = { label = "a " .. unit }, figures = figures }
    end
    return list
end


local function print_memory(result, names)
    local list = by_unit(result)
    print_grid("memory / zklock's", list, peers(names), ratio_of)
    print_grid("kB of the client", list, names, median_of)
end


local function print_held(result)
    local figures = result.figures.zklock[1]
    markdown.table({ "locks held at once", "taken in, s", "kB a lock, in the server",
                     "ms a cycle of another lock, before", "meanwhile" },
                   { { figures.locks, number(figures.seconds), number(figures.server_kB),
                       number(figures.before_ms), number(figures.ms) } })
end


local function print_nginx(result)
    local lines, nothing = {}, result.handlers[1].name
    for i, handler in ipairs(result.handlers) do
        local figures = result.figures[handler.name]
        lines[i] = { handler.name, range(rounds.ratio(figures, result.figures[nothing])),
                     range(rounds.middle(figures, "rate")) }
    end
    markdown.table({ "a handler in nginx with", "time / that of none", "requests a second" }, lines)
end


-- An answer that came when the server went on is none.
local function print_outage(result, names)
    local silence = result.row.silence
    print_grid("acquire(0.5) while the server is stopped", { result }, names, function(figures)
        local seconds, least, most = rounds.middle(figures, "seconds")
        if seconds > silence then return ("none in %g s"):format(silence) end
        return ("%s s: %s"):format(range(seconds, least, most), figures[#figures].what)
    end)
end


local OTHERS = { memory = print_memory, held = print_held, nginx = print_nginx,
                 outage = print_outage }


--- Prints all tables of these results; names: of the clients, in order.
return function(results, names)
    print_times(of_parts(results, "cycles", "grants"), names)
    print_cpu(of_parts(results, "cycles"), names)
    for _, result in ipairs(results) do
        local print_one = OTHERS[result.part]
        if result.missing then print(("\n%s: missing: %s"):format(result.part, result.missing))
        elseif print_one then print_one(result, names) end
    end
end
