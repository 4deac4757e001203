--- The signs of a picture for its steps and for answers to buyers.

local signs = {}

signs.marks = { "①", "②", "③", "④", "⑤", "⑥", "⑦", "⑧", "⑨", "⑩", "⑪", "⑫", "⑬", "⑭", "⑮" }

local TOLD = { sold = "✔", refused = "○", looked = "" }
local FAILED = "✘"

signs.order = { TOLD.sold, TOLD.refused, FAILED }


--- The sign of an answer at the end of a buyer's row, or "".
function signs.told(outcome) return outcome and (TOLD[outcome] or FAILED) or "" end


return signs
