--- The exit statuses of the command, which are those of sysexits.h where that has one.

local status = {
    OK = 0,
    FAILED = 1, -- what doctor found; a lock that was not broken
    USAGE = 64,
    UNAVAILABLE = 69, -- no server
    SOFTWARE = 70, -- another failure, which the message names
    TIMEOUT = 75, -- the lock is taken, or was not had in time
    LOST = 76, -- it was lost while the command ran
    NO_PERMISSION = 77,
    INCOMPLETE = 78, -- a part of the installation is missing
    SIGNAL = 128, -- and the signal's number
}

local of_code = {
    auth = status.NO_PERMISSION,
    busy = status.TIMEOUT,
    connection = status.UNAVAILABLE,
    timeout = status.UNAVAILABLE, -- a lock that is not had in time is no failure
}


--- Of a failure with that code.
---@param code string?
---@return integer
function status.of(code)
    return of_code[code] or status.SOFTWARE
end


return status
