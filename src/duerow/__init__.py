"""Message queues kept as rows in the database that an application already has."""
