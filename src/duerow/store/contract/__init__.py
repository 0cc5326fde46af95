"""The contract of a store, in parts: `messages`, which every store has, and the optional parts."""
