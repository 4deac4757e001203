--- Many shells count in a file, each with zklock run, while those that hold the lock are killed and
-- stopped: no update is lost. make test-command-counter SHELLS=100

local files = require "spec.files"
local rig = require "spec.rig"

local LUA = os.getenv("ZKLOCK_LUA") or "lua5.4"
local SHELLS = tonumber(os.getenv("ZKLOCK_SHELLS") or 30)
local STRUCK = 10
local LONG = 300 -- seconds for all of it, on a machine that does much else

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
        return assert(io.popen(("sh -c '%s' 2>/dev/null; echo \"status $?\""):format(
            line:format(LUA, server.hosts, path, file))))
    end

    local function signal(name, pid)
        return rig.shell("kill -%s %d 2>/dev/null && echo done", name, pid) == "done\n"
    end

    -- The process whose turn it is, and those that it started.
    local function holder(lock)
        local first = assert(lock:queue(LONG))[1]
        return first and tonumber(first.identity:match(":(%d+)$"))
    end

    local function descendants(pid)
        local found = { pid }
        for each in rig.shell("pgrep -P %d", pid):gmatch("%d+") do
            for _, other in ipairs(descendants(each)) do found[#found + 1] = other end
        end
        return found
    end

    -- Strikes so many holders, one after the other; gives the processes that are to go on later.
    local function strike(lock)
        local struck, stopped, count = {}, {}, 0
        while count < STRUCK do
            local pid = rig.wait_for("a holder", function()
                local found = holder(lock)
                return found and not struck[found] and found
            end, LONG)
            struck[pid] = true
            local all = count % 3 == 2 and descendants(pid) or { pid }
            local done = true
            for _, each in ipairs(all) do
                done = signal(count % 3 == 0 and "KILL" or "STOP", each) and done
            end
            if count % 3 ~= 0 then
                for _, each in ipairs(all) do stopped[#stopped + 1] = each end
            end
            if done then count = count + 1 end
        end
        return stopped
    end

    -- The last count, if none was lost: each is one more than the one before.
    local function last_count(file)
        local token, count = 0, 0
        for what, its_token, its_count in files.read(file):gmatch("(%a+) (%d+) (%d+)\n") do
            its_token, its_count = tonumber(its_token), tonumber(its_count)
            assert(its_token >= token, "a smaller token was let in")
            token = its_token
            assert.equal(what == "counted" and count + 1 or count, its_count)
            count = its_count
        end
        return count
    end

    it("loses no update while ten of those that hold the lock are killed or stopped", function()
        local path, file = rig.path(), files.write(folder .. "/counter", "looked 0 0\n")
        local lock = rig.session(server.hosts):mutex(path)
        local shells = {}
        for i = 1, SHELLS do shells[i] = start(path, file) end
        for _, pid in ipairs(strike(lock)) do signal("CONT", pid) end
        local counted = 0
        for _, shell in ipairs(shells) do
            local status = tonumber(shell:read("*a"):match("status (%d+)\n$"))
            shell:close()
            if status == 0 then counted = counted + 1 end
        end
        local count = last_count(file)
        assert.is_true(counted > 0 and count >= counted and count <= SHELLS,
                       ("%d of %d counted, and the count is %d"):format(counted, SHELLS, count))
    end)
end)
