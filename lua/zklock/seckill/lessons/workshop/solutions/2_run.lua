--- Two servers that read less than 0.51 s apart both read 1, and both sell.

return { wrong = 37, last = 1, right = 2, gap = 0.51 }
