--- The seed's own numbers.

return {
    --- The product of S0: char siu bun, and how many there are of them.
    PRODUCT = "4f863bb5266b9508e0c1f28c61ea8de1",
    STOCK = 100,
    BUYERS = 10,
}
