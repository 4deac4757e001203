--- Exit statuses of the command, from sysexits.h where that has one.

local status = {
    OK = 0,
    FAILED = 1, -- such as: a lock is lost, is not broken, or may be in a deadlock
    USAGE = 64,
    UNAVAILABLE = 69, -- no server
    SOFTWARE = 70, -- another failure, which the message names
    TIMEOUT = 75, -- the lock is taken, or was not granted in time
    LOST = 76, -- the lock was lost while the command ran
    NO_PERMISSION = 77,
    INCOMPLETE = 78, -- a part of the installation is missing
    SIGNAL = 128, -- and the signal's number
}

local of_code = {
    auth = status.NO_PERMISSION,
    busy = status.TIMEOUT,
    connection = status.UNAVAILABLE,
    timeout = status.UNAVAILABLE, -- no answer in time; a lock that is taken is "busy"
}


---@param code string?
---@return integer
function status.of(code)
    return of_code[code] or status.SOFTWARE
end


return status
