--- The lock is around the transaction's statements, and is released before the commit. Nobody sees
--- the write before the commit.

return function(lock, store, step)
    step "ask"
    local lease, _, code = lock:acquire()
    if not lease then return code end
    step("read", { lease = lease })
    local stock = store:read(lease.token)
    if stock == 0 then
        lease:release()
        return "sold_out"
    end
    step("release", { stock = stock })
    lease:release()
    step "commit"
    store:write(stock - 1, lease.token)
    return "sold"
end
