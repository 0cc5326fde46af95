"""A shop in Flask: an application factory, Flask-SQLAlchemy, a worker started with Flask's command, and a dashboard.

pip install 'duerow[flask,dashboard,cli]' flask-sqlalchemy
flask --app examples.flask_shop.shop queues migrate
flask --app examples.flask_shop.shop queues worker &
flask --app examples.flask_shop.shop run
curl -d item=lamp localhost:5000/orders
"""
