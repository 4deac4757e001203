--- log.lua - writes a module Log, which Trace.tla or History.tla judges.

--- Of records, as text, into the folder; `altered`: the line that makes it one to be refused.
return function(folder, records, altered)
    assert(os.execute("mkdir -p " .. folder))
    local file = assert(io.open(folder .. "/Log.tla", "w"))
    if altered then assert(file:write("\\* altered: line ", altered, "\n")) end
    assert(file:write("---- MODULE Log ----\nEXTENDS Naturals\nLines == ", #records,
        "\nLog == <<\n", table.concat(records, ",\n"), "\n>>\n====\n"))
    file:close()
end
