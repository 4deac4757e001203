--- The possible next steps of a world, for a test that chooses instead of the seed.

local loop = require "zklock.world.loop"

local ipairs = ipairs

local TRIES = 10 -- steps of the loop until the chosen packet should have arrived


---@param self zklock.World
---@return { text: string, fn: function }[]
return function(self)
    local list = {}
    for index, entry in ipairs(self.ready) do
        local process = entry.thread and loop.process_of(self, entry)
        if process and not process.over and not process.stopped then
            list[#list + 1] = {
                text = process.name .. " goes on",
                fn = function() loop.go_on(self, index) end,
            }
        end
    end
    for number, session in ipairs(self.sessions) do
        for _, up in ipairs{ true, false } do
            local text = self.core:packet(number, up)
            if text then
                list[#list + 1] = {
                    text = ("%s %s server: %s"):format(session.runtime.name,
                        up and "to the" or "from the", text),
                    fn = function()
                        self.core:hasten(number, up)
                        local tries = 0
                        repeat -- other packets may be due before it
                            loop.advance(self, 1)
                            tries = tries + 1
                        until self.over or tries == TRIES or self.core:packet(number, up) ~= text
                    end,
                }
            end
        end
    end
    if self.live > 0 or self.events:first() then
        list[#list + 1] = { text = "time goes on", fn = function() loop.advance(self, 1) end }
    end
    return list
end
