-- Check now what is to be checked at the end of the transaction, where that can be put off.
SET CONSTRAINTS ALL IMMEDIATE
