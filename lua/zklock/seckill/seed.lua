--- Numbers of the seed articles, S0 to S4, from which the laboratory takes its flash sale.

return {
    --- S0's product (char siu bun) and its stock.
    PRODUCT = "4f863bb5266b9508e0c1f28c61ea8de1",
    STOCK = 100,
    BUYERS = 10,
}
