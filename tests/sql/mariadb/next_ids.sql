-- Hand out `count` ids, ascending.
SELECT NEXTVAL(`duerow_message_id`) AS id
FROM JSON_TABLE(CONCAT('[0', REPEAT(',0', :count - 1), ']'), '$[*]' COLUMNS (n INT PATH '$')) AS numbers
