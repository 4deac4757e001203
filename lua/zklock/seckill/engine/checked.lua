--- The name of the lock that engines ask for to see whether their server answers: nobody holds it
--- for long.
return "zklock-engine-check"
