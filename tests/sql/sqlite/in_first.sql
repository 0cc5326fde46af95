-- Ask whether the first of several databases that a connection sees has the table; None if it sees
-- one.
PRAGMA main.table_info("duerow_message")
