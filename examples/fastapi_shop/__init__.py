"""A shop in FastAPI: orders with an outbox in the same transaction, a worker beside the server, and the dashboard.

pip install 'duerow[fastapi,dashboard]'
uvicorn examples.fastapi_shop.main:app
curl -X POST 'localhost:8000/orders?item=lamp'
"""
