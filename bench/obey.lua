--- A program that obeys commands. It prints the greeting; then the first word of each line selects
-- a function of `commands`, which gets the other words. It answers "ok …" or "error: …"
-- (rig.servant in spec/rig.lua).

local unpack = table.unpack or unpack -- luacheck: std max


return function(commands, greeting)
    io.stdout:setvbuf("line")
    print(greeting)
    for line in io.lines() do
        if line == "quit" then return end
        local words = {}
        for word in line:gmatch("%S+") do words[#words + 1] = word end
        local ok, answer = pcall(commands[table.remove(words, 1)], unpack(words))
        print(ok and "ok " .. (answer or "") or "error: " .. tostring(answer):gsub("%s+", " "))
    end
end
