"""Queue state inside the user's own tables: the order, invoice or message to send is itself the queue item."""

from duerow.entity.state import QueueState, queue_state
from duerow.stores.sql.entities.columns import Moment
from duerow.stores.sql.entities.queries import Standing
from duerow.sync.entity import EntityQueue

__all__ = ["EntityQueue", "Moment", "QueueState", "Standing", "queue_state"]
