--- The name of the lock that engines acquire to check their server. Nobody holds it for long.
return "zklock-engine-check"
