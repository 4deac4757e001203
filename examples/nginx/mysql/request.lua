--- A request for a purchase, and its answer.

local _M = {}


function _M.answer(status, text)
    ngx.status = status
    ngx.say(text)
end


-- The text, if it is up to 32 letters and digits.
local function word(text)
    return text and #text <= 32 and text:match "^%w+$"
end


--- The product, the buyer, and the order's number, which the buyer's client chooses. Returns
-- nothing if it has refused the request.
function _M.order()
    local id = (ngx.var.arg_id or ""):match "^[1-9]%d*$"
    local buyer, order = word(ngx.var.arg_buyer), word(ngx.var.arg_order)
    if ngx.req.get_method() ~= "POST" then return _M.answer(405, "a purchase is a POST") end
    if not id or #id > 9 or not buyer or not order then
        return _M.answer(400, "id must be a number, buyer and order letters and digits")
    end
    return id, buyer, order
end


return _M
