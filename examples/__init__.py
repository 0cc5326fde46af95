"""Small applications that show how duerow is used."""
