--- The story of a world, which tells what happened in it, a line each. These are methods of the
-- world.

---@class zklock.Mark a line in the story before one step
---@field step integer
---@field line string
---@field text? string the first line that the step itself adds to the story
---@field turn_of? zklock.Process whose turn the step is

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


-- Adds the mark's line, if the next step is marked. `process` is nil unless that step is a turn.
function Story:mark_step(process)
    local mark = self.mark
    if mark.step ~= self.step_count then return end
    self.story[#self.story + 1] = mark.line
    mark.turn_of = process
end


function Story:note_wait(process, request)
    if self.story and request.path then self:tell(process, "wants %s", request.path) end
end


function Story:note_event(process, event)
    if not self.story then return end
    local token = event.token and (", token %s"):format(event.token) or ""
    self:tell(process, "%s %s%s", event.event, event.path or "", token)
end


return Story
