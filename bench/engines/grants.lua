--- Row "grants" has contenders that acquire one lock again and again, and a crowd that comes at
-- once and is granted once each.

local markdown = require "bench.markdown"
local rounds = require "bench.harness.rounds"

local number, milliseconds = markdown.number, markdown.milliseconds

local ALONE = 0.4 -- seconds for a single contender, which never waits


local function shapes_of(options)
    local list, most = {}, 0
    for _, contenders in ipairs(options.contenders) do
        local seconds = contenders == 1 and math.min(ALONE, options.seconds) or options.seconds
        list[#list + 1] = { contenders = contenders, seconds = seconds }
        most = math.max(most, contenders)
    end
    if most > 1 then list[#list + 1] = { contenders = most, laps = 1 } end
    return list
end


local function title(shape, processes)
    local spread = math.min(processes, shape.contenders)
    return shape.contenders == 1 and "1 contender" or ("%d contenders%s: %d processes x %g"):format(
        shape.contenders, shape.laps and ", each once" or "", spread, shape.contenders / spread)
end


local DASH = "—"

local HEAD = { "", "grants a second", "of zookeeper's", "p50, ms", "p99, ms", "requests a grant" }
local HEAD_OF_ORDER = { "overtakes", "Jain" }


-- A single contender has no order, nor has a crowd that comes at once.
local function has_order(shape) return shape.contenders > 1 and not shape.laps end


-- With sql-optimistic nobody waits, so nobody is overtaken.
local function cells_of_order(contender, median_of)
    local overtakes = contender.engine == "sql-optimistic" and DASH
        or ("%d"):format(median_of "overtakes")
    return { overtakes, ("%.2f"):format(median_of "jain") }
end


local function concatenated(list, more)
    local both = {}
    for _, each in ipairs(list) do both[#both + 1] = each end
    for _, each in ipairs(more) do both[#both + 1] = each end
    return both
end


local function row(contender, figures, reference, shape)
    local function median_of(name) return (rounds.median_of(figures, name)) end
    local p99, least, most = rounds.median_of(figures, "p99")
    local cells = {
        contender.label, markdown.range(rounds.median_of(figures, "rate")),
        reference and number((rounds.ratio(figures, reference, "rate"))) or DASH,
        milliseconds(median_of "p50"),
        markdown.range(1000 * p99, 1000 * least, 1000 * most), number(median_of "requests"),
    }
    return has_order(shape) and concatenated(cells, cells_of_order(contender, median_of)) or cells
end


-- All are compared with zklock's own lock.
local function reference_of(world)
    return world:ids(function(contender)
        return contender.engine == "zookeeper" and not contender.lock
    end)[1]
end


local function all_ids(world) return world:ids(function() return true end) end


return function(world)
    world:start_crowd()
    local reference = reference_of(world)
    for _, shape in ipairs(shapes_of(world.options)) do
        local figures, rows = world:rounds(all_ids(world), shape), {}
        for id, contender in ipairs(world.contenders) do
            rows[id] = row(contender, figures[id], figures[reference], shape)
        end
        print("\n**" .. title(shape, world.options.processes) .. "**")
        markdown.table(has_order(shape) and concatenated(HEAD, HEAD_OF_ORDER) or HEAD, rows)
    end
end
