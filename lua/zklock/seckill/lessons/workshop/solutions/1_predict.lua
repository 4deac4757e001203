--- All six read 3 before the first of them writes, and each writes 2.

return { sold = 6, left = 2 }
