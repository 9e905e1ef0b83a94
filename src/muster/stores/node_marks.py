"""The marks that admins put on nodes, cordoned or draining; at most one per node."""

from sqlalchemy import Connection, bindparam, delete, insert, select

from muster.domain.nodes import Mark, NodeMark
from muster.stores.tables import node_marks

_INSERT = insert(node_marks)
_REMOVE = delete(node_marks).where(
    node_marks.c.cluster == bindparam("the_cluster"), node_marks.c.node == bindparam("the_node")
)
_ALL = select(node_marks).order_by(node_marks.c.cluster, node_marks.c.node)


def put_mark(connection: Connection, mark: NodeMark) -> None:
    remove_mark(connection, mark.cluster, mark.node)
    connection.execute(
        _INSERT,
        {
            "cluster": mark.cluster,
            "node": mark.node,
            "mark": str(mark.mark),
            "reason": mark.reason,
            "by": mark.by,
            "at": mark.at,
        },
    )


def remove_mark(connection: Connection, cluster: str, node: str) -> None:
    connection.execute(_REMOVE, {"the_cluster": cluster, "the_node": node})


def all_marks(connection: Connection) -> list[NodeMark]:
    return [
        NodeMark(row.cluster, row.node, Mark(row.mark), row.reason, row.by, row.at)
        for row in connection.execute(_ALL).all()
    ]
