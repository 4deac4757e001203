--- The check of exercise 1.
---
---     lua5.4 "$(command -v busted)" lua/zklock/seckill/lessons/workshop/1_predict_spec.lua

local shop = require "zklock.seckill.lessons.workshop.shop"

describe("1_predict.lua", function()
    local predicted = dofile(shop.file "1_predict")
    local sale
    shop.play(shop.purchase "plain", {
        servers = 6, stock = 3, property = function(played) sale = played end,
    })

    it("predicts how many buyers are told that they have bought", function()
        assert(predicted.sold, "1_predict.lua lacks a prediction: `sold` is still nil")
        assert(predicted.sold == sale.told.sold, "The number of buyers who are told \"sold\" is "
            .. "another one. What does each buyer read, if nobody has written yet?")
    end)

    it("predicts how many buns are left", function()
        assert(predicted.left, "1_predict.lua lacks a prediction: `left` is still nil")
        assert(predicted.left == sale.left, "The number of buns that are left is another one. "
            .. "What does each server write, and what does the last write leave?")
    end)
end)
