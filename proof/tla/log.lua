--- log.lua - writes modules Log, which Trace.tla or History.tla judges.

--- Writes records into the folder, as text. `altered` is the line by which it must be refused.
return function(folder, records, altered)
    assert(os.execute("mkdir -p " .. folder))
    local file = assert(io.open(folder .. "/Log.tla", "w"))
    if altered then assert(file:write("\\* altered: line ", altered, "\n")) end
    assert(file:write("---- MODULE Log ----\nEXTENDS Naturals\nLines == ", #records,
        "\nLog == <<\n", table.concat(records, ",\n"), "\n>>\n====\n"))
    file:close()
end
