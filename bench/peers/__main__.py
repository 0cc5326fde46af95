"""Fetch the peers that come from npm, unless they are there: `python -m bench.peers`."""

from __future__ import annotations

from bench.peers import in_node

if __name__ == "__main__":
    print(f"peers from npm: {in_node.install()}")
