-- Ask which database this is, told from all others on whatever servers.
PRAGMA database_list
