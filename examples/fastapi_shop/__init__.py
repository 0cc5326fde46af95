"""A shop in FastAPI: orders whose messages are pushed in the same transaction, a worker in the server, a dashboard.

pip install 'duerow[fastapi,dashboard]'
uvicorn examples.fastapi_shop.main:app
curl -X POST 'localhost:8000/orders?item=lamp'
"""
