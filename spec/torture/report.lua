--- The findings of the checker: violations, what a fault explains, measures.

local distributions = require "zklock.seckill.distribution"

local report = {}

local MANY = 200 -- violations of one rule; what is wrong all the time need not be listed

local Report = {}
Report.__index = Report


local function entry(self, at, claim, text, ...)
    return {
        rule = self.rule.name,
        at = at,
        claim = claim and claim.id,
        path = claim and claim.path,
        text = text:format(...),
    }
end


--- violation(at, claim or nil, text, ...) of the rule that is at work. It is the servers' if they
-- lost, by their own logs, what was done to nodes of the claim's path; unless the rule is `ours`.
function Report:violation(at, claim, text, ...)
    if claim and not self.rule.ours and self.model:has_lost(claim, at) then
        self.lost = self.lost + 1
        return self:explain(at, claim, text .. ": the servers lost writes", ...)
    end
    self.rule.violations = self.rule.violations + 1
    if self.rule.violations <= MANY then
        self.violations[#self.violations + 1] = entry(self, at, claim, text, ...)
    end
end


--- The same, of how a claim was granted.
function Report:grant(claim, ...)
    self:violation(claim.granted, claim, ...)
end


--- The rule has as many as need be listed.
function Report:full()
    return self.rule.violations > MANY
end


--- As a violation, but a fault explains it.
function Report:explain(...)
    self.explained[#self.explained + 1] = entry(self, ...)
end


function Report:measure(name, seconds)
    self.measures[name] = self.measures[name] or distributions.new()
    self.measures[name]:add(seconds)
end


--- Begins the work of a rule; ours: whatever servers lose, it holds.
function Report:begin(name, text, ours)
    self.rule = { name = name, text = text, ours = ours, violations = 0 }
    self.rules[#self.rules + 1] = self.rule
end


--- The report about a model; see checker.lua.
function report.new(m)
    return setmetatable({
        violations = {}, explained = {}, rules = {}, measures = {}, model = m, lost = 0,
    }, Report)
end


return report
