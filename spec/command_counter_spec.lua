--- [lua luajit] Many shells count in a file, each with zklock run, while holders of the lock are
-- killed and stopped. make test-command-counter SHELLS=100

local files = require "spec.files"
local rig = require "spec.rig"

local LUA = os.getenv("ZKLOCK_LUA") or "lua5.4"
local SHELLS = tonumber(os.getenv("ZKLOCK_SHELLS") or 30)
local STRIKES = 10
local LONG = 300 -- seconds for the whole test, on a busy machine

describe("a counter in a file #server", function()
    local server, folder
    setup(function()
        server = rig.shared()
        folder = rig.shell("mktemp -d"):match("[^\n]+")
    end)
    teardown(function() rig.shell("rm -rf %s", folder) end)
    after_each(rig.close_sessions)

    local function start(path, file)
        local line = "exec setpriv --pdeathsig KILL %s bin/zklock --hosts %s --timeout 2 run %s "
            .. "sh spec/command_counter.sh %s"
        return assert(io.popen(("sh -c '%s' 2>/dev/null; echo $? >>%s.ended"):format(
            line:format(LUA, server.hosts, path, file), file)))
    end

    local function count_ended(file)
        local count, well = 0, 0
        for status in files.read(file .. ".ended"):gmatch("%d+") do
            count = count + 1
            if status == "0" then well = well + 1 end
        end
        return count, well
    end

    local function signal(name, pid)
        return rig.shell("kill -%s %d 2>/dev/null && echo done", name, pid) == "done\n"
    end

    local function has_ended(pid)
        return not rig.shell("ps -o state= -p %d", pid):find("^[^Z%s]")
    end

    local function holder(lock)
        local first = assert(lock:queue(LONG))[1]
        return first and tonumber(first.identity:match(":(%d+)$"))
    end

    -- The pids of zklock, its minder, the command and the command's children, in this order.
    local function descendants(pid)
        local found = { pid }
        for each in rig.shell("pgrep -P %d", pid):gmatch("%d+") do
            for _, other in ipairs(descendants(each)) do found[#found + 1] = other end
        end
        return found
    end

    -- Continues stopped processes: first the command, and when it has ended, zklock and its minder,
    -- which would have ended it. So only the fence protects the counter.
    local function continue_all(all)
        for i = 3, #all do signal("CONT", all[i]) end
        for i = 3, #all do
            rig.wait_for("the end of a command", function() return has_ended(all[i]) end, LONG)
        end
        for i = 2, 1, -1 do
            if all[i] then signal("CONT", all[i]) end
        end
    end

    -- Strikes up to STRIKES holders, one after the other: kills zklock, stops it, or stops it with
    -- all its descendants. Returns the stopped processes.
    local function strike(lock, file)
        local struck, stopped, count = {}, {}, 0
        while count < STRIKES do
            local pid = rig.wait_for("a holder", function()
                local found = holder(lock)
                if count_ended(file) >= SHELLS - count then return "none" end
                return found and not struck[found] and found
            end, LONG)
            if pid == "none" then break end
            struck[pid] = true
            local all = count % 3 == 2 and descendants(pid) or { pid }
            local kills = count % 3 == 0
            if signal(kills and "KILL" or "STOP", pid) then
                for i = 2, #all do signal("STOP", all[i]) end
                if not kills then stopped[#stopped + 1] = all end
                count = count + 1
            end
        end
        return stopped
    end

    -- Returns the last count, and checks that each count is the one before plus 1.
    local function last_count(file)
        local token, count = 0, 0
        for verb, next_token, next_count in files.read(file):gmatch("(%a+) (%d+) (%d+)\n") do
            next_token, next_count = tonumber(next_token), tonumber(next_count)
            assert(next_token >= token, "a smaller token was let in")
            token = next_token
            assert.equal(verb == "counted" and count + 1 or count, next_count)
            count = next_count
        end
        return count
    end

    it("a counter loses no update while ten lock holders are killed or stopped #slow", function()
        local path, file = rig.path(), files.write(folder .. "/counter", "looked 0 0\n")
        local lock = rig.session(server.hosts):mutex(path)
        local shells = {}
        files.write(file .. ".ended", "")
        for i = 1, SHELLS do shells[i] = start(path, file) end
        for _, all in ipairs(strike(lock, file)) do continue_all(all) end
        for _, shell in ipairs(shells) do shell:close() end
        local all, counted = count_ended(file)
        local count = last_count(file)
        assert.equal(SHELLS, all)
        assert.is_true(counted > 0 and count >= counted and count <= SHELLS,
                       ("%d of %d counted, and the count is %d"):format(counted, SHELLS, count))
    end)
end)
