--- A server's program for its buyer. `step` waits until you choose that step; its second argument
--- is the server's new knowledge.

return function(lock, store, step)
    step "ask"
    local lease, _, code = lock:acquire()
    if not lease then return code end
    step("read", { lease = lease })
    local stock, told = store:read(lease.token), "refused"
    if stock == 0 then
        told = "sold_out"
    elseif stock then
        step("write", { stock = stock })
        if store:write(stock - 1, lease.token) then told = "sold" end
    end
    lease:release()
    return told
end
