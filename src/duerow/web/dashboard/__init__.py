"""The pages: queues, messages and pipelines in a browser, drawn by the server and kept live."""
