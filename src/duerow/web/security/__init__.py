"""Access control: who may use the web application, and the refusal of attacks."""
