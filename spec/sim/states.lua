--- states.lua - the table of docs/design/states.md, read by a program.

local states = {}


local function cells_of(row)
    local cells = {}
    for cell in row:gmatch "|%s*([^|]*)" do cells[#cells + 1] = cell:match "^(.-)%s*$" end
    return cells
end


-- Returns the rows below a heading, as cells.
local function rows_below(page, heading)
    local rows = {}
    local first = assert(select(2, page:find(heading, 1, true)), "no table with " .. heading)
    for line in page:sub(first + 1):gmatch "\n([^\n]*)" do
        if line:sub(1, 1) ~= "|" then break end
        if not line:find "^|%s*%-" then rows[#rows + 1] = cells_of(line) end
    end
    return rows
end


-- Splits "when → result; when → result" into a list of { result =, with = actions, maybe = actions
-- }.
local function outcomes(cell)
    local list = {}
    for outcome in cell:gmatch "[^;]+" do
        local text = outcome:gsub("^.*→ ", ""):match "^%s*(.-)%s*$"
        local one = { with = {}, maybe = {} }
        text = text:gsub("%s*%[(.-)%]", function(action)
            one.maybe[#one.maybe + 1] = action
            return ""
        end)
        one.result = text:match "^[^+]*":match "^(.-)%s*$"
        for action in (text:match "%+(.*)$" or ""):gmatch "[^,]+" do
            one.with[#one.with + 1] = action:match "^%s*(.-)%s*$"
        end
        list[#list + 1] = one
    end
    return list
end


--- Reads the page: { rows = { { form =, state =, event =, wanted =, unwanted = }, ... },
-- steps = { [name] = { [form or ""] = outcomes } } }; the last two of a row are lists of outcomes.
-- A line of the table with several forms, states or events gives a row for each.
function states.read(page)
    local read = { rows = {}, steps = {} }
    for _, cells in ipairs(rows_below(page, "| step | of | is one of |")) do
        read.steps[cells[1]] = read.steps[cells[1]] or {}
        read.steps[cells[1]][cells[2]] = outcomes(cells[3])
    end
    for _, cells in ipairs(rows_below(page, "| of | state | event | wanted | not wanted |")) do
        local wanted, unwanted = outcomes(cells[4]), outcomes(cells[5])
        for form in cells[1]:gmatch "%l+" do
            for state in cells[2]:gmatch "[%u_]+" do
                for event in cells[3]:gmatch "`(.-)`" do
                    read.rows[#read.rows + 1] = { form = form, state = state, event = event,
                                                  wanted = wanted, unwanted = unwanted }
                end
            end
        end
    end
    return read
end


-- Returns an outcome's text, with its actions in one order.
local function text_of(state, actions)
    local sorted = {}
    for action in pairs(actions) do sorted[#sorted + 1] = action end
    table.sort(sorted)
    return state .. (#sorted > 0 and " + " .. table.concat(sorted, ", ") or "")
end


--- Returns that text for "STATE + action, action", as the simulator prints it.
function states.normal(outcome)
    local one, actions = outcomes(outcome)[1], {}
    for _, action in ipairs(one.with) do actions[action] = true end
    return text_of(one.result, actions)
end


local function united(actions, more)
    local all = {}
    for action in pairs(actions) do all[action] = true end
    for _, action in ipairs(more) do all[action] = true end
    return all
end


-- Calls each(state, actions) for each variant of an outcome of a claim of that form.
local function expand(read, form, outcome, actions, each)
    local with = united(actions, outcome.with)
    local step = read.steps[outcome.result]
    for chosen = 0, 2 ^ #outcome.maybe - 1 do
        local all, left = with, chosen
        for _, action in ipairs(outcome.maybe) do
            if left % 2 == 1 then all = united(all, { action }) end
            left = math.floor(left / 2)
        end
        if not step then each(outcome.result, all) end
        for _, inner in ipairs(step and (step[form] or step[""]) or {}) do
            expand(read, form, inner, all, each)
        end
    end
end


--- Adds the texts of all variants of these outcomes to `set`.
function states.expand(read, form, list, set)
    for _, outcome in ipairs(list) do
        expand(read, form, outcome, {}, function(state, actions)
            set[text_of(state, actions)] = true
        end)
    end
    return set
end


return states
