--- The story of a world, which tells what happened in it, a line each. These are methods of the
-- world.

---@class zklock.Mark a step of which the story tells more
---@field step integer
---@field line string in the story before it
---@field text? string the first line of the step itself
---@field turn_of? zklock.Process whose turn it is

---@class zklock.Story
local Story = {}

function Story:tell(process, text, ...)
    local story = self.story
    if not story then return end
    text = text:format(...)
    story[#story + 1] = ("%11.6f s  %-10s  %s"):format(self:now(), process.name, text)
    local mark = self.in_step and self.mark
    if mark and mark.step == self.step_count then
        mark.text = mark.text or process.name .. " " .. text
    end
end


-- Adds the mark's line, if the next step is marked. `process` is that of a turn.
function Story:mark_step(process)
    local mark = self.mark
    if mark.step ~= self.step_count then return end
    self.story[#self.story + 1] = mark.line
    mark.turn_of = process
end


function Story:note_wait(process, request)
    if self.story and request.path then self:tell(process, "wants %s", request.path) end
end


function Story:note_step(process, step)
    if not self.story then return end
    local token = step.token and (", token %s"):format(step.token) or ""
    self:tell(process, "%s %s%s", step.event, step.path or "", token)
end


return Story
