--- The protected resource is one SQLite file a lock path, with one row. It keeps the highest
-- fencing token that it was shown, and takes no write with a smaller token. Every holder shows its
-- token before it reads, so no earlier writer changes what it reads.
--
-- The data is a set, as a chain. Each element names the element before it that its writer had read,
-- and the row names the last. A writer that reads, pauses and writes loses the elements that came
-- meanwhile. Lock and tokens must prevent that. No element that the store took may be lost, even by
-- a late writer. A journal, kept by a trigger, lists all writes in the order of their transactions.

local files = require "spec.files"
local history = require "spec.torture.history"
local sqlite = require "luasql.sqlite3"

local store = {}

local Store = {}
Store.__index = Store

local SCHEMA = {
    "PRAGMA journal_mode = WAL",
    "CREATE TABLE head (element TEXT, read TEXT, token INTEGER)",
    "CREATE TABLE journal (id INTEGER PRIMARY KEY, element TEXT, read TEXT, token INTEGER)",
    [[CREATE TRIGGER keep AFTER UPDATE OF element ON head BEGIN
        INSERT INTO journal (element, read, token) VALUES (NEW.element, NEW.read, NEW.token);
      END]],
    "INSERT INTO head VALUES ('-', '-', 0)",
}


--- Opens the store of a lock path that create() made, below FOLDER/store. pause() is called, again
-- and again, while another process writes.
function store.open(folder, path, pause)
    local file = folder .. "/store/" .. path:gsub("/", "_")
    local self = setmetatable({ file = file, pause = pause, environment = sqlite.sqlite3() }, Store)
    self.connection = assert(self.environment:connect(file))
    self:execute("PRAGMA synchronous = OFF") -- processes are killed, the machine is not
    return self
end


function store.create(folder, path)
    local self = store.open(folder, path)
    for _, statement in ipairs(SCHEMA) do self:execute(statement) end
    self:close()
end


function Store:close()
    self.connection:close()
    self.environment:close()
end


-- Runs a statement; returns the first row as a list, or the number of rows changed.
function Store:execute(statement, ...)
    if select("#", ...) > 0 then statement = statement:format(...) end
    while true do
        local result, message = self.connection:execute(statement)
        if type(result) == "userdata" then
            local row = result:fetch({}, "n")
            result:close()
            return row
        end
        if result then return result end
        if not message:find("locked", 1, true) then error(message .. " in: " .. statement) end
        self.pause()
    end
end


--- Returns the last element, or "-".
function Store:read()
    return self:execute("SELECT element FROM head")[1]
end


--- Refuses writes with a smaller token from now on, for a holder that is about to read.
function Store:fence(token)
    self:execute("UPDATE head SET token = %s WHERE token < %s", token, token)
end


-- Two files beside the store hold tokens: .update that of a holder that has read and not yet
-- written, .overtaken that of such a holder which the next holder found.

function Store:begin(token) files.write(self.file .. ".update", token) end
function Store:unfinished() return files.read(self.file .. ".update") end
function Store:overtake(token) files.write(self.file .. ".overtaken", token) end
function Store:is_overtaken(token) return files.read(self.file .. ".overtaken") == token end


function Store:finish(token)
    if self:unfinished() == token then os.remove(self.file .. ".update") end
end


--- Appends an element behind `read`; returns false after a greater token.
function Store:write(element, read, token)
    return self:execute("UPDATE head SET element = '%s', read = '%s', token = %s WHERE token <= %s",
                        element, read, token, token) == 1
end


--- Returns all writes to these lock paths in their order, as history.
function store.record(folder, paths)
    local writer = history.writer(folder .. "/history/store", "store")
    for _, path in ipairs(paths) do
        local self = store.open(folder, path)
        local cursor = assert(self.connection:execute(
            "SELECT element, read, CAST(token AS TEXT) AS token FROM journal ORDER BY id"))
        local write = cursor:fetch({}, "a")
        while write do
            write.path = path
            writer:record("stored", nil, write)
            write = cursor:fetch({}, "a")
        end
        cursor:close()
        self:close()
    end
    writer:close()
end


return store
