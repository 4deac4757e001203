--- [lua luajit] The types written by rig/types.lua have each function, method and option of the
-- module, and nothing else.
local reference = require "spec.reference"
local resty_lock = require "zklock.resty_lock"
local rig = require "spec.rig"
local zklock = require "zklock"

local server = rig.shared()
local types = rig.shell("%s rig/types.lua", os.getenv "ZKLOCK_LUA" or "lua5.4")


-- The file's declarations. A class has its parent and a set of its fields and methods, and an alias
-- has a set of texts.
local function read_declarations()
    local classes, aliases, class, alias = {}, {}, nil, nil
    for line in types:gmatch "([^\n]*)\n" do
        local name, parent = line:match "^%-%-%-@class ([%w_.]+):? ?([%w_.]*)"
        if name then
            class = { parent = parent, members = {} }
            classes[name] = class
        end
        local field = line:match "^%-%-%-@field ([%w_]+)"
        if field then class.members[field] = true end
        local variable = line:match "^local ([%w_]+) = {}$"
        if variable then classes[variable] = class end
        local object, method = line:match "^function ([%w_]+)[.:]([%w_]+)%("
        if object then classes[object].members[method] = true end
        alias = line:match "^%-%-%-@alias ([%w_.]+)" or alias
        for text in alias and line:gmatch '"([%l_]+)"' or function() end do
            aliases[alias] = aliases[alias] or {}
            aliases[alias][text] = true
        end
        if line == "" then alias = nil end
    end
    return classes, aliases
end

local classes, aliases = read_declarations()


local function members(name)
    local class = assert(classes[name], "no class " .. name)
    local found = {}
    for member in pairs(class.members) do found[member] = true end
    if class.parent ~= "" then
        for member in pairs(members(class.parent)) do found[member] = true end
    end
    return found
end


local function names(set)
    local list = {}
    for name in pairs(set) do list[#list + 1] = name end
    table.sort(list)
    return list
end


local function set_of(list)
    local set = {}
    for _, name in ipairs(list) do set[name] = true end
    return set
end


-- The set of methods of each object in headings and tables of the reference.
local function read_reference()
    local found = { memory = {}, world = {}, request = set_of{ "done", "on_done" } }
    for _, call in ipairs(reference.calls()) do
        for word, method in call.heading:gsub('".-"', ""):gmatch "([%l_]+)[.:]([%l_]+)" do
            found[word] = found[word] or {}
            found[word][method] = true
        end
    end
    for cell in reference.page "testing":gmatch "\n| (`[^|]*) |" do
        for word, method in cell:gmatch "`([%l_]+)[.:]([%l_]+)" do found[word][method] = true end
    end
    for _, page in ipairs{ "locks", "lease", "members" } do
        found[reference.page(page):match "`(%l+)%.path`"].path = true
    end
    return found
end


local function known_options(call)
    local ok, message = pcall(call, { ["no such option"] = true })
    assert.is_false(ok)
    local list = assert(message:match "known: (.*)$", message)
    local found = {}
    for name in (list .. ","):gmatch "([%l_]+)," do found[#found + 1] = name end
    return found
end


describe("the types", function()
    local session, lock, objects
    before_each(function()
        lock, session = rig.mutex()
        local rwlock = session:rwlock(rig.path())
        objects = {
            zklock = zklock, session = session, lock = lock, rwlock = rwlock,
            condition = lock:condition "some", lease = assert(lock:acquire(20)),
            election = session:election(rig.path()),
            memory = zklock.memory "types", request = require "zklock.waiting.request",
            world = assert(zklock.world(function() end)),
            resty_lock = resty_lock,
            member = assert(session:join(rig.path(), { name = "a", timeout = 20 })),
        }
    end)
    after_each(rig.close_sessions)

    it("the storm of finalizers calls each function of the types", function()
        local calls, missing = require "spec.finalizers.calls", {}
        for line in types:gmatch "[^\n]+" do
            local name = line:match "^function ([%w_]+[.:][%w_]+)%("
            if name and not calls[name] then missing[#missing + 1] = name end
        end
        assert.same({}, missing)
    end)

    it("the types have each function of the module, and no other", function()
        local found = {}
        for name in pairs(zklock) do found[name] = true end
        assert.same(names(found), names(members "zklock"))
    end)

    for word, methods in pairs(read_reference()) do
        it("the types have each method of the reference, and no other: " .. word, function()
            for _, name in ipairs{ "_NAME", "_VERSION" } do
                methods[name] = members(word)[name]
            end
            assert.same(names(methods), names(members(word)))
            for name in pairs(methods) do
                local there = objects[word][name] ~= nil or name == "problem"
                assert.is_true(there, word .. " has no " .. name)
            end
        end)
    end

    for class, call in pairs{
        ConnectOptions = function(options) return zklock.connect(server.hosts, options) end,
        MutexOptions = function(options) return session:mutex("/a", options) end,
        RWLockOptions = function(options) return session:rwlock("/a", options) end,
        SemaphoreOptions = function(options) return session:semaphore("/a", 1, options) end,
        AcquireOptions = function(options) return lock:acquire(options) end,
        PermitOptions = function(options)
            return session:semaphore("/a", 1):acquire(options)
        end,
        LockedOptions = function(options) return session:locked("/a", 1, print, options) end,
        ElectionOptions = function(options) return session:election("/a", options) end,
        JoinOptions = function(options) return session:join("/a", options) end,
        CloseOptions = function(options) return session:close(options) end,
        TimeoutOptions = function(options) return lock:queue(options) end,
        CombineOptions = function(options) return lock:combine(print, options) end,
        ReleaseOptions = function(options) return objects.lease:release(options) end,
        RestyLockOptions = function(options) return resty_lock:new("a", options) end,
    } do
        it("the types have each option, and no other: " .. class, function()
            assert.same(known_options(call), names(members("zklock." .. class)))
        end)
    end

    for class, beginning in pairs{
        ConnectOptions = "zklock.connect(hosts",
        MutexOptions = "session:mutex",
        RWLockOptions = "session:rwlock",
        SemaphoreOptions = "session:semaphore",
        PermitOptions = "lock:acquire",
        LockedOptions = "session:locked",
        ElectionOptions = "session:election",
        JoinOptions = "session:join",
        CloseOptions = "session:close",
        CombineOptions = "lock:combine",
        ReleaseOptions = "lease:release",
        RestyLockOptions = "resty_lock:new",
        SimulateOptions = "zklock.simulate",
        WorldOptions = "zklock.world",
    } do
        it("the types have each option of the reference, and no other: " .. class, function()
            local options = reference.names(reference.call(beginning), "option")
            assert.same(names(options), names(members("zklock." .. class)))
        end)
    end

    it("the types have each field of the reference's tables, and no other", function()
        local metrics = reference.page "metrics"
        for class, fields in pairs{
            Stats = reference.names(reference.call "session:stats", "field"),
            Event = reference.names(metrics:match "\n## Events\n(.*)$", "field"),
            Contender = reference.names(reference.call "lock:queue", "field"),
            Listed = reference.names(reference.call "session:members", "field of a member"),
            Faults = reference.names(reference.call "zklock.simulate", "fault"),
        } do
            assert.same(names(fields), names(members("zklock." .. class)))
        end
    end)

    it("the types have each counter, and no other", function()
        local counted = session:stats()
        counted.callback_error, counted.recover_error = "of the last", "of the last"
        assert.same(names(counted), names(members "zklock.Stats"))
    end)

    it("the types have each field of a contender", function()
        session:semaphore(rig.path(), 1):acquire(20)
        local line = session:mutex(lock.path):queue()
        for name in pairs(line[1]) do assert.is_true(members "zklock.Contender"[name], name) end
    end)

    it("the types have each field of a member of a folder", function()
        local list
        assert(session:members(objects.member.path:match "^(.*)/", function(told) list = told end))
        rig.wait_for("the list", function() return list and list[1] end)
        assert.same(names(list[1]), names(members "zklock.Listed"))
    end)

    it("the types have each code and state of the reference, and no other", function()
        local codes, states = reference.names(reference.page "codes", "code"), {}
        for state in reference.call "session:state":gmatch '\n| `"(%l+)"` |' do
            states[state] = true
        end
        assert.same(names(codes), names(aliases["zklock.Code"]))
        assert.same(names(states), names(aliases["zklock.SessionState"]))
    end)

    it("the types are one Lua file without unknown classes", function()
        assert((loadstring or load)(types))
        for name in types:gmatch "zklock%.(%u[%w]*)" do
            local there = classes["zklock." .. name] or
                types:find("@alias zklock." .. name, 1, true)
            assert.is_truthy(there, name)
        end
    end)
end)
