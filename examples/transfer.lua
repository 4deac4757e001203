--- Transfers between two accounts in ZooKeeper. No sum is lost, whatever fails.
--
-- Shows session:multi, which takes both locks or none, so transfers in opposite directions cannot
-- deadlock; and lease:guard, which writes both balances in one transaction, only while both locks
-- are held. So a process that was stopped for too long writes nothing.
--
--     lua5.4 examples/transfer.lua                  with a server inside the process
--     ZK_HOSTS=127.0.0.1:2181 lua5.4 examples/transfer.lua

local zklock = require "zklock"

local hosts = os.getenv "ZK_HOSTS" or "memory:examples"
local session = assert(zklock.connect(hosts))


local function account(name)
    return {
        path = "/examples/account-" .. name,
        lock = session:mutex("/examples/locks/account-" .. name),
    }
end


local function open(new, balance)
    assert(new.lock:with(20, function(lease)
        if session:get(new.path) then return end
        assert(lease:guard{ { "create", new.path, tostring(balance) } })
    end))
end


local function transfer(from, to, amount)
    return session:multi{ from.lock, to.lock }:with(20, function(lease)
        local left = assert(session:get(from.path)) - amount
        local received = assert(session:get(to.path)) + amount
        if left < 0 then return "not enough" end
        assert(lease:guard{
            { "set", from.path, ("%d"):format(left) },
            { "set", to.path, ("%d"):format(received) },
        })
        return "done"
    end)
end


local alice, bob = account "alice", account "bob"
open(alice, 100)
open(bob, 0)
zklock.run(
    function() for _ = 1, 5 do assert(transfer(alice, bob, 10)) end end,
    function() for _ = 1, 5 do assert(transfer(bob, alice, 10)) end end)
print("both have", session:get(alice.path) + session:get(bob.path))
print("a thousand", select(2, assert(transfer(alice, bob, 1000))))
session:close()
