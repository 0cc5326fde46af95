"""The application."""

from __future__ import annotations

import os
from typing import Any

from flask import Flask, request
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from duerow import Message
from duerow.contrib.flask import FlaskQueues
from duerow.web import Viewer, roles_of


class Base(DeclarativeBase): ...


db = SQLAlchemy(model_class=Base)
queues = FlaskQueues()
mail = queues.queue("mail")


class Order(db.Model):  # type: ignore[name-defined,misc]
    id: Mapped[int] = mapped_column(primary_key=True)
    item: Mapped[str]
    confirmed: Mapped[bool] = mapped_column(default=False)


@mail.handler
def confirm(message: Message) -> None:
    """Confirm an order; a real shop would also send an email here."""
    order = db.session.get_one(Order, message.payload["order"])
    order.confirmed = True
    db.session.commit()


def who() -> Any:
    """Let only requests from this machine see the queues; a real shop would look up the user in its session."""
    return Viewer("local", roles_of("operator")) if request.remote_addr == "127.0.0.1" else None


def create_app(url: str | None = None) -> Flask:
    """Create the application; `flask --app` calls this function."""
    app = Flask(__name__)
    app.config["SQLALCHEMY_DATABASE_URI"] = url or os.environ.get("SHOP_URL", f"sqlite:///{os.getcwd()}/shop.sqlite3")
    db.init_app(app)
    queues.init_app(app)
    queues.dashboard(app, who)
    with app.app_context():
        db.create_all()

    @app.post("/orders")
    def take() -> dict[str, int]:
        order = Order(item=request.form["item"])
        db.session.add(order)
        db.session.flush()  # now order.id is known
        mail.push({"order": order.id}, within=db.session)
        db.session.commit()
        return {"order": order.id}

    return app
