--- The connections of a MariaDB that wait in a statement with this beginning.

---@param db table  a database of zklock.seckill.database, of another connection
---@param statement string
---@return table[] rows  of one column, the id
return function(db, statement)
    return db:rows(([[SELECT id FROM information_schema.processlist
        WHERE state LIKE 'Waiting%%' AND info LIKE '%s%%']]):format(statement))
end
