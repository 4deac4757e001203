--- Collects the violations, explained overlaps and measures that the checker finds.

local distributions = require "zklock.seckill.distribution"

local report = {}

local MANY = 200 -- violations of one rule; a constant fault need not be listed on and on

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


--- Adds violation(at, claim or nil, text, ...) to the current rule. The servers are to blame if, by
-- their own logs, they lost a change of the claim's nodes; unless the rule is `ours`.
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


function Report:grant(claim, ...)
    self:violation(claim.granted, claim, ...)
end


function Report:full()
    return self.rule.violations > MANY
end


--- Adds a violation that a fault explains.
function Report:explain(...)
    self.explained[#self.explained + 1] = entry(self, ...)
end


function Report:measure(name, seconds)
    self.measures[name] = self.measures[name] or distributions.new()
    self.measures[name]:add(seconds)
end


--- Begins a rule; with `ours` it holds whatever the servers lose.
function Report:begin(name, text, ours)
    self.rule = { name = name, text = text, ours = ours, violations = 0 }
    self.rules[#self.rules + 1] = self.rule
end


function report.new(m)
    return setmetatable({
        violations = {}, explained = {}, rules = {}, measures = {}, model = m, lost = 0,
    }, Report)
end


return report
